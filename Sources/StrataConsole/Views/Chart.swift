/// A chart as SVG, with the same numbers as a table. The partial `chart` shows it.
struct Chart: Sendable {
    /// Values that are drawn alike.
    struct Series: Sendable {
        /// The kind, which the style sheet knows: `bars`, `queued` or `running`.
        let kind: String
        let name: String
        /// The path of an SVG element.
        let path: String
    }

    struct Label: Sendable {
        let x: String
        let y: String
        /// The part of the text that is at the point: `start`, `middle` or `end`.
        let anchor: String
        let text: String
    }

    /// The beginning of the ids of the chart's elements.
    let id: String
    let title: String
    /// The chart in one or two sentences, for persons who do not see it.
    let summary: String
    let width: String
    let height: String
    let axis: String
    let maximumLine: String
    let series: [Series]
    let labels: [Label]
    /// Whether the chart needs a legend.
    let hasLegend: Bool
    let table: Table

    init(
        id: String,
        title: String,
        summary: String,
        _ frame: ChartFrame,
        series: [Series],
        labels: [Label],
        table: Table
    ) {
        (self.id, self.title, self.summary) = (id, title, summary)
        (self.series, self.labels, self.table) = (series, labels, table)
        hasLegend = series.count > 1
        width = "\(Int(ChartFrame.width))"
        height = "\(Int(ChartFrame.height))"
        axis = frame.axis
        maximumLine = frame.maximumLine
    }
}
