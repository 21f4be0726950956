extension PageTemplate {
    /// A ``Chart``.
    static let chart = PageTemplate(
        "chart",
        """
        <figure class="chart">
        <figcaption>{{.title}}</figcaption>
        <svg role="img" viewBox="0 0 {{.width}} {{.height}}" aria-labelledby="{{.id}}-title {{.id}}-desc">
        <title id="{{.id}}-title">{{.title}}</title>
        <desc id="{{.id}}-desc">{{.summary}}</desc>
        <path class="chart-top" d="{{.maximumLine}}"/>
        {{#.series}}
        <path class="chart-{{.kind}}" d="{{.path}}"/>
        {{/.series}}
        <path class="chart-axis" d="{{.axis}}"/>
        {{#.labels}}
        <text class="chart-{{.anchor}}" x="{{.x}}" y="{{.y}}">{{.text}}</text>
        {{/.labels}}
        </svg>
        {{#.hasLegend}}
        <ul class="legend">
        {{#.series}}
        <li class="legend-{{.kind}}">{{.name}}</li>
        {{/.series}}
        </ul>
        {{/.hasLegend}}
        <p class="note">{{.summary}}</p>
        <details id="{{.id}}-numbers">
        <summary>Numbers</summary>
        {{#.table}}
        {{>table}}
        {{/.table}}
        </details>
        </figure>

        """
    )
}

extension StyleSheet {
    /// The styles of charts, forms with fields, and lists of pages. The series also differ without colours: the line of
    /// running operations is dashed.
    static let charts = """
        .charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(300px, 100%), 1fr)); gap: 12px; }
        .chart { container-type: inline-size; margin: 0; padding: 10px 12px; background: var(--panel); border: 1px solid var(--line);
          border-radius: 6px; min-width: 0; }
        .chart figcaption { font-weight: 600; }
        .chart svg { display: block; width: 100%; height: auto; }
        .chart path { vector-effect: non-scaling-stroke; }
        /* Texts scale with the drawing. The sizes keep them between 10 and 14 pixels. */
        .chart text { fill: var(--soft); font-size: 12px; }
        @container (min-width: 400px) { .chart text { font-size: 10px; } }
        @container (min-width: 480px) { .chart text { font-size: 8.5px; } }
        @container (min-width: 580px) { .chart text { font-size: 7px; } }
        @container (min-width: 700px) { .chart text { font-size: 6px; } }
        @container (min-width: 820px) { .chart text { font-size: 5px; } }
        .chart-start { text-anchor: start; }
        .chart-middle { text-anchor: middle; }
        .chart-end { text-anchor: end; }
        .chart-axis, .chart-top, .chart-queued, .chart-running { fill: none; stroke: var(--soft); stroke-width: 1; }
        .chart-top { stroke: var(--line); stroke-dasharray: 3 3; }
        .chart-bars { fill: var(--active); }
        .chart-queued { stroke: var(--warning); stroke-width: 2; }
        .chart-running { stroke: var(--active); stroke-width: 2; stroke-dasharray: 5 3; }
        .chart .note { margin: 4px 0; }
        .chart .table-box { max-height: 300px; margin-top: 6px; }
        .legend { display: flex; flex-wrap: wrap; gap: 4px 16px; list-style: none; margin: 0; padding: 0; }
        .legend li::before { content: ""; display: inline-block; width: 18px; margin-right: 6px; vertical-align: 3px;
          border-top: 2px solid var(--warning); }
        .legend .legend-running::before { border-top: 2px dashed var(--active); }
        .limits { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(280px, 100%), 1fr)); gap: 12px; }
        .limits > div { padding: 10px 12px; background: var(--panel); border: 1px solid var(--line);
          border-radius: 6px; }
        .limits p { margin: 4px 0; }
        .limits form { margin: 0 0 6px; }

        """
}
