extension PageTemplate {
    /// The values are ``StatementsPage/Values``.
    static let statements = PageTemplate(
        "statements",
        """
        {{#.collected}}
        <section id="worst" data-live aria-labelledby="worst-title">
        <h2 id="worst-title">By total duration</h2>
        {{#.statements}}
        <section>
        <pre>{{.sql}}</pre>
        {{#.facts}}
        {{>facts}}
        {{/.facts}}
        {{#.plan}}
        <details><summary>Plan of SQLite</summary>
        <pre>{{.}}</pre>
        </details>
        {{/.plan}}
        </section>
        {{/.statements}}
        {{^.hasStatements}}
        <p class="empty">No statement was slow yet.</p>
        {{/.hasStatements}}
        </section>
        <section id="newest" data-live aria-labelledby="newest-title">
        <h2 id="newest-title">Newest</h2>
        {{#.newest}}
        {{>table}}
        {{/.newest}}
        </section>
        <p class="note">Values are shown as <code>?</code>. In a plan, SCAN means that SQLite has read a table or an \
        index from end to end.</p>
        {{/.collected}}
        {{^.collected}}
        <p class="empty">The program that shows this console does not collect slow statements. A console of another \
        process cannot see the statements of an application. An application passes the same collection to its stack \
        and to its console:</p>
        <pre>let slowStatements = SlowStatements()
        let stack = try await ContextStack.open(
            .sqlite(url), models: models,
            diagnostics: Diagnostics(
                slowStatementThreshold: .milliseconds(100), slowStatements: slowStatements))
        let options = ConsoleOptions(authentication: .application, slowStatements: slowStatements)</pre>
        {{/.collected}}

        """
    )
}
