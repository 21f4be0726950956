extension PageTemplate {
    /// The values are ``PipelinesPage/Values``.
    static let pipelines = PageTemplate(
        "pipelines",
        """
        <section id="pipelines" data-live aria-label="Pipelines">
        {{#.table}}
        {{>table}}
        {{/.table}}
        {{#.note}}
        <p class="note">{{.}}</p>
        {{/.note}}
        </section>

        """
    )
}
