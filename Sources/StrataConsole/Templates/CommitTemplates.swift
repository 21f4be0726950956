extension PageTemplate {
    /// The values are ``CommitsPage/Values``.
    static let commits = PageTemplate(
        "commits",
        """
        <section id="commits" data-live aria-label="Commits">
        {{#.table}}
        {{>table}}
        {{/.table}}
        <p class="note">The changes are the numbers of inserted (+), updated (~) and deleted (-) objects.</p>
        </section>

        """
    )

    /// The values are ``CommitPage/Values``.
    static let commit = PageTemplate(
        "commit",
        """
        <nav class="pager" aria-label="Other commits">
        {{#.neighbours}}<a href="{{.href}}">{{.title}}</a> {{/.neighbours}}
        <a href="{{base}}commits">All commits</a>
        </nav>
        <section aria-label="The commit">
        {{#.facts}}
        {{>facts}}
        {{/.facts}}
        </section>
        {{#.reason}}
        <p class="empty">The changes are not shown: {{.}}.</p>
        {{/.reason}}
        {{#.changes}}
        <section aria-labelledby="tables-title">
        <h2 id="tables-title">Tables</h2>
        {{#.tables}}
        {{>table}}
        {{/.tables}}
        </section>
        <section aria-labelledby="objects-title">
        <h2 id="objects-title">Objects</h2>
        {{#.objects}}
        {{>table}}
        {{/.objects}}
        </section>
        {{/.changes}}

        """
    )
}
