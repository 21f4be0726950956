extension PageTemplate {
    /// The values are ``DependenciesPage/Values``.
    static let dependencies = PageTemplate(
        "dependencies",
        """
        <section id="graph" data-live aria-label="Graph">
        <p>{{.text}}</p>
        {{#.lane}}
        <p><a href="{{.href}}">{{.title}}</a></p>
        {{/.lane}}
        {{#.notes}}
        <p class="note">{{.}}</p>
        {{/.notes}}
        <p class="changes"><span>Steps:</span>
        {{#.depths}}
        <a href="{{.href}}"{{#.isCurrent}} aria-current="true"{{/.isCurrent}}>{{.depth}}</a>
        {{/.depths}}
        </p>
        {{#.graph}}
        <div class="graph" role="region" aria-label="Graph of the dependencies" tabindex="0">
        <svg role="img" aria-labelledby="graph-title graph-text" width="{{.width}}" height="{{.height}}" \
        viewBox="0 0 {{.width}} {{.height}}">
        <title id="graph-title">{{.title}}</title>
        <desc id="graph-text">{{.text}}</desc>
        <defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">\
        <path class="arrow" d="M0 0 8 4 0 8z"/></marker></defs>
        {{#.lines}}
        <path class="line{{#.isImplied}} line-implied{{/.isImplied}}" d="{{.path}}" marker-end="url(#arrow)"/>
        {{/.lines}}
        {{#.boxes}}
        {{! The list below has the same links, so the keyboard need not visit these. }}
        {{#.href}}<a href="{{.}}" tabindex="-1">{{/.href}}
        <g class="box box-{{.kind}}{{#.isCentre}} box-centre{{/.isCentre}}">
        <rect x="{{.x}}" y="{{.y}}" width="{{.width}}" height="{{.height}}" rx="5"/>
        <text x="{{.textX}}" y="{{.firstY}}">{{.first}}</text>
        <text class="second" x="{{.textX}}" y="{{.secondY}}">{{.second}}</text>
        </g>
        {{#.href}}</a>{{/.href}}
        {{/.boxes}}
        </svg>
        </div>
        {{/.graph}}
        </section>
        <section id="list" data-live aria-labelledby="list-title">
        <h2 id="list-title">The same as a list</h2>
        {{#.table}}
        {{>table}}
        {{/.table}}
        </section>

        """
    )
}
