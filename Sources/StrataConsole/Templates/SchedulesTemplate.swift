extension PageTemplate {
    /// The values are ``SchedulesPage/Values``.
    static let schedules = PageTemplate(
        "schedules",
        """
        <section id="schedules" data-live aria-label="Schedules">
        {{#.table}}
        {{>table}}
        {{/.table}}
        </section>

        """
    )
}
