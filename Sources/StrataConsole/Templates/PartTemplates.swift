/// The parts that pages share. A name that begins with a dot belongs to the innermost value: without the dot, a missing
/// value would be looked up in the values around it.
extension PageTemplate {
    /// A ``Cell``.
    static let cell = PageTemplate(
        "cell",
        """
        {{#.mark}}<span class="mark mark-{{.}}">{{/.mark}}\
        {{#.href}}<a href="{{.}}">{{/.href}}\
        {{#.time}}<time datetime="{{.}}" title="{{.}}">{{/.time}}\
        {{.text}}\
        {{#.time}}</time>{{/.time}}\
        {{#.href}}</a>{{/.href}}\
        {{#.mark}}</span>{{/.mark}}\
        {{#.note}} <small class="note">{{.}}</small>{{/.note}}\
        {{#.form}}{{>form}}{{/.form}}
        """
    )

    /// A ``Table``, with the links to its other pages.
    static let table = PageTemplate(
        "table",
        """
        {{^.isEmpty}}
        <div class="table-box" role="region" aria-label="{{.caption}}" tabindex="0">
        <table>
        <caption>{{.caption}}</caption>
        <thead><tr>
        {{#.hasChecks}}
        <th scope="col">Select</th>
        {{/.hasChecks}}
        {{#.columns}}
        <th scope="col"{{#.isNumber}} class="number"{{/.isNumber}}>{{.title}}</th>
        {{/.columns}}
        </tr></thead>
        <tbody>
        {{#.rows}}
        <tr>
        {{#.check}}
        <td><input type="checkbox" name="{{.name}}" value="{{.value}}" aria-label="{{.label}}"></td>
        {{/.check}}
        {{#.cells}}
        <td{{#.isNumber}} class="number"{{/.isNumber}}{{^.isNumber}}{{#.isLong}} class="long"{{/.isLong}}{{/.isNumber}}>\
        {{>cell}}</td>
        {{/.cells}}
        </tr>
        {{/.rows}}
        </tbody>
        </table>
        </div>
        {{/.isEmpty}}
        {{#.isEmpty}}
        <p class="empty">{{.whenEmpty}}</p>
        {{/.isEmpty}}
        {{#.pager}}
        {{>pager}}
        {{/.pager}}

        """
    )

    /// ``Totals``.
    static let totals = PageTemplate(
        "totals",
        """
        <section id="totals" data-live aria-labelledby="totals-title">
        <h2 id="totals-title">Operations</h2>
        <ul class="totals">
        {{#.all}}
        <li>{{#.href}}<a href="{{.}}">{{/.href}}<span class="total mark-{{.kind}}">{{.count}}</span> \
        <span>{{.name}}</span>{{#.href}}</a>{{/.href}}</li>
        {{/.all}}
        </ul>
        {{#.note}}
        <p class="note">{{.}}</p>
        {{/.note}}
        </section>

        """
    )

    /// ``Facts``.
    static let facts = PageTemplate(
        "facts",
        """
        <dl class="facts">
        {{#.facts}}
        <div><dt>{{.name}}</dt><dd>{{#.value}}{{>cell}}{{/.value}}</dd></div>
        {{/.facts}}
        </dl>

        """
    )

    /// A ``Pager``.
    static let pager = PageTemplate(
        "pager",
        """
        {{#.isNeeded}}
        <nav class="pager" aria-label="Pages of the list">
        {{#.first}}<a href="{{.href}}">{{.title}}</a>{{/.first}}
        {{#.previous}}<a href="{{.href}}" rel="prev">{{.title}}</a>{{/.previous}}
        {{#.page}}<span>Page {{.}}</span>{{/.page}}
        {{#.next}}<a href="{{.href}}" rel="next">{{.title}}</a>{{/.next}}
        {{#.note}}<span>{{.}}</span>{{/.note}}
        </nav>
        {{/.isNeeded}}

        """
    )

    /// A ``FormView``.
    static let form = PageTemplate(
        "form",
        """
        <form method="post" action="{{.action}}"{{#.question}} data-question="{{.}}"{{/.question}}>\
        {{>form-token}}<button type="submit">{{.button}}</button></form>
        """
    )

    /// The secret of forms, which is a value of the layout.
    static let formToken = PageTemplate(
        "form-token",
        """
        <input type="hidden" name="form-token" value="{{formToken}}">
        """
    )
}
