extension PageTemplate {
    /// The values are ``StorePage/Values``.
    static let store = PageTemplate(
        "store",
        """
        <section aria-label="Sizes">
        {{#.facts}}
        {{>facts}}
        {{/.facts}}
        </section>
        <section aria-labelledby="tables-title">
        <h2 id="tables-title">Models</h2>
        {{#.tables}}
        {{>table}}
        {{/.tables}}
        {{#.note}}
        <p class="note">{{.}}</p>
        {{/.note}}
        <p class="note">The command <code>strata inspect</code> counts all rows, and measures tables and indexes.</p>
        </section>
        <section aria-labelledby="schema-title">
        <h2 id="schema-title">Schema</h2>
        <pre>{{.schema}}</pre>
        </section>

        """
    )

    /// The values are ``TablePage/Values``.
    static let rows = PageTemplate(
        "rows",
        """
        <p><a href="{{base}}store">All models</a></p>
        <section id="rows" data-live aria-label="Rows">
        {{#.table}}
        {{>table}}
        {{/.table}}
        {{#.note}}
        <p class="note">{{.}}</p>
        {{/.note}}
        </section>

        """
    )

    /// The values are ``ObjectPage/Values``.
    static let object = PageTemplate(
        "object",
        """
        <p><a href="{{.rows}}">All rows of {{.table}}</a></p>
        <section id="fields" data-live aria-label="Values">
        {{#.fields}}
        {{>table}}
        {{/.fields}}
        </section>

        """
    )
}
