extension PageTemplate {
    /// The values are ``OperationsPage/Values``.
    static let operations = PageTemplate(
        "operations",
        """
        {{#.form}}
        <form method="get" action="{{base}}operations" class="fields filters" role="search" aria-label="Filters">
        <p><label for="filter-state">Status</label>
        <select id="filter-state" name="state">
        {{#.groups}}
        <optgroup label="{{.name}}">
        {{#.options}}
        <option value="{{.value}}"{{#.isSelected}} selected{{/.isSelected}}>{{.text}}</option>
        {{/.options}}
        </optgroup>
        {{/.groups}}
        </select></p>
        {{#.fields}}
        <p><label for="filter-{{.name}}">{{.title}}</label>
        <input id="filter-{{.name}}" name="{{.name}}" value="{{.value}}"{{#.hint}} placeholder="{{.}}"{{/.hint}}></p>
        {{/.fields}}
        <p><button type="submit">Filter</button> <a href="{{base}}operations">All queued</a></p>
        </form>
        {{/.form}}
        <section id="operations" data-live aria-labelledby="operations-title">
        <h2 id="operations-title">{{.count}}</h2>
        {{#.note}}
        <p class="note">{{.}}</p>
        {{/.note}}
        {{#.check}}
        <form method="get" action="{{base}}operations/change">
        {{#.items}}
        <input type="hidden" name="{{.name}}" value="{{.value}}">
        {{/.items}}
        {{/.check}}
        {{#.table}}
        {{>table}}
        {{/.table}}
        {{#.check}}
        <p class="changes"><span>Selected operations:</span>
        {{#.changes}}
        <button type="submit" name="change" value="{{.name}}">{{.title}}</button>
        {{/.changes}}
        </p>
        </form>
        {{/.check}}
        {{#.all}}
        <p class="changes"><span>All {{.count}} that match:</span>
        {{#.links}}
        <a href="{{.href}}">{{.title}}</a>
        {{/.links}}
        </p>
        {{/.all}}
        {{#.pager}}
        {{>pager}}
        {{/.pager}}
        </section>

        """
    )

    /// The values are ``OperationChangePage/Values``.
    static let operationChange = PageTemplate(
        "operation-change",
        """
        <section id="change">
        {{#.facts}}
        {{>facts}}
        {{/.facts}}
        <p>{{.explanation}}</p>
        {{#.warning}}
        <p class="failure" role="alert">{{.}}</p>
        {{/.warning}}
        {{#.form}}
        <form method="post" action="{{.action}}" class="fields">
        {{>form-token}}
        <input type="hidden" name="count" value="{{.count}}">
        <input type="hidden" name="shown" value="{{.shown}}">
        {{#.isHold}}
        <p><label for="hold">Name of the hold</label> <input id="hold" name="hold" value="{{.hold}}" required></p>
        <p><label for="for">How long</label> <input id="for" name="for" placeholder="until its release, or 15m"></p>
        {{/.isHold}}
        {{#.isRelease}}
        <p><label for="hold">Name of the hold</label> <input id="hold" name="hold" value="{{.hold}}" required></p>
        {{/.isRelease}}
        {{#.isPriority}}
        <p><label for="priority">Priority</label> <input id="priority" name="priority" type="number" value="0" required></p>
        {{/.isPriority}}
        {{#.isSkip}}
        <p class="check"><input id="cancel" name="cancel-running" type="checkbox" value="yes">
        <label for="cancel">Cancel operations that run, too</label></p>
        {{/.isSkip}}
        <p><button type="submit">{{.button}}</button></p>
        </form>
        {{/.form}}
        {{^.form}}
        <p class="empty">The change concerns no operation.</p>
        {{/.form}}
        <p><a href="{{.list}}">Back to the list</a></p>
        </section>

        """
    )
}
