extension PageTemplate {
    /// A ``CursorPager``.
    static let cursorPager = PageTemplate(
        "cursor-pager",
        """
        {{#.isNeeded}}
        <nav class="pager" aria-label="Pages of the list">
        {{#.links}}<a href="{{.href}}">{{.title}}</a>{{/.links}}
        </nav>
        {{/.isNeeded}}

        """
    )
}
