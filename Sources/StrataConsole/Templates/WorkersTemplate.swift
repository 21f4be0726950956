extension PageTemplate {
    /// The values are ``WorkersPage/Values``.
    static let workers = PageTemplate(
        "workers",
        """
        <section id="workers" data-live aria-labelledby="workers-title">
        <h2 id="workers-title">Workers</h2>
        {{#.workers}}
        {{>table}}
        {{/.workers}}
        <p class="note">A worker is a program that has opened pipelines of the store. A worker that runs nothing need not \
        send heartbeats.</p>
        </section>
        <section id="processes" data-live aria-labelledby="processes-title">
        <h2 id="processes-title">Processes</h2>
        {{#.processes}}
        {{>table}}
        {{/.processes}}
        {{#.note}}
        <p class="note">{{.}}</p>
        {{/.note}}
        </section>

        """
    )
}
