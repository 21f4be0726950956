extension PageTemplate {
    /// The values are ``OverviewPage/Values``.
    static let overview = PageTemplate(
        "overview",
        """
        <section id="store" data-live aria-labelledby="store-title">
        <h2 id="store-title">Store</h2>
        {{#.facts}}
        {{>facts}}
        {{/.facts}}
        </section>
        {{#.home}}
        <section id="home" data-live aria-labelledby="home-title">
        <h2 id="home-title">Home</h2>
        {{#.facts}}
        {{>facts}}
        {{/.facts}}
        {{#.nodes}}
        {{>table}}
        {{/.nodes}}
        {{#.note}}
        <p class="note">{{.}}</p>
        {{/.note}}
        </section>
        {{/.home}}
        {{#.queues}}
        {{#.totals}}
        {{>totals}}
        {{/.totals}}
        <section id="charts" data-live aria-labelledby="charts-title">
        <h2 id="charts-title">The last hour</h2>
        <div class="charts">
        {{#.charts}}
        {{>chart}}
        {{/.charts}}
        </div>
        </section>
        <section id="failing" data-live aria-labelledby="failing-title">
        <h2 id="failing-title">Failures</h2>
        {{#.failing}}
        {{>table}}
        {{/.failing}}
        </section>
        <section id="failed" data-live aria-labelledby="failed-title">
        <h2 id="failed-title">Needs attention</h2>
        {{#.failed}}
        {{>table}}
        {{/.failed}}
        </section>
        <section id="running" data-live aria-labelledby="running-title">
        <h2 id="running-title">Running</h2>
        {{#.running}}
        {{>table}}
        {{/.running}}
        </section>
        {{/.queues}}
        {{^.queues}}
        <p class="empty">The stack of this console was opened without the models of queues.</p>
        {{/.queues}}

        """
    )
}
