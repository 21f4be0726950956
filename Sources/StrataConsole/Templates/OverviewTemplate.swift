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
        {{#.queues}}
        <section id="totals" data-live aria-labelledby="totals-title">
        <h2 id="totals-title">Operations</h2>
        <ul class="totals">
        {{#.totals}}
        <li>{{#.href}}<a href="{{.}}">{{/.href}}<span class="total mark-{{.kind}}">{{.count}}</span> \
        <span>{{.name}}</span>{{#.href}}</a>{{/.href}}</li>
        {{/.totals}}
        </ul>
        {{#.note}}
        <p class="note">{{.}}</p>
        {{/.note}}
        </section>
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
