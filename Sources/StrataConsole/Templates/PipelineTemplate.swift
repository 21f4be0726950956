extension PageTemplate {
    /// The values are ``PipelinePage/Values``.
    static let pipeline = PageTemplate(
        "pipeline",
        """
        <section id="facts" data-live aria-labelledby="facts-title">
        <h2 id="facts-title">State</h2>
        {{#.facts}}
        {{>facts}}
        {{/.facts}}
        </section>
        {{#.totals}}
        {{>totals}}
        {{/.totals}}
        <section id="settings" data-live aria-labelledby="settings-title">
        <h2 id="settings-title">Settings</h2>
        {{#.settings}}
        {{>table}}
        {{/.settings}}
        </section>
        {{#.controls}}
        <section id="controls" data-live aria-labelledby="controls-title">
        <h2 id="controls-title">Change the settings</h2>
        {{#.pause}}
        {{>form}}
        {{/.pause}}
        <div class="limits">
        {{#.limits}}
        <div>
        <form method="post" action="{{.action}}" class="fields">
        {{>form-token}}
        <p><label for="{{.id}}">{{.title}}</label>
        <input id="{{.id}}" name="value" value="{{.value}}" required maxlength="40" pattern="{{.pattern}}" \
        title="{{.hint}}" aria-describedby="{{.id}}-hint" autocomplete="off" spellcheck="false">
        <button type="submit">Set</button></p>
        <p class="note" id="{{.id}}-hint">{{.hint}}</p>
        </form>
        {{#.reset}}
        {{>form}}
        {{/.reset}}
        </div>
        {{/.limits}}
        </div>
        </section>
        {{/.controls}}
        {{#.blocked}}
        <section id="blocked" data-live aria-labelledby="blocked-title">
        <h2 id="blocked-title">Blocked lanes</h2>
        {{>table}}
        </section>
        {{/.blocked}}
        <section id="lanes" data-live aria-labelledby="lanes-title">
        <h2 id="lanes-title">Lanes</h2>
        {{#.lanes}}
        {{>table}}
        {{/.lanes}}
        </section>

        """
    )
}
