extension PageTemplate {
    /// The values are ``OperationPage/Values``.
    static let operation = PageTemplate(
        "operation",
        """
        <section id="facts" data-live aria-label="Facts">
        {{#.facts}}
        {{>facts}}
        {{/.facts}}
        {{#.problems}}
        <p class="failure">{{.}}</p>
        {{/.problems}}
        {{#.dependencies}}
        <p><a href="{{.}}">Prerequisites and dependants</a></p>
        {{/.dependencies}}
        </section>
        {{#.isQueued}}
        <section id="waits" data-live aria-labelledby="waits-title">
        <h2 id="waits-title">Why it does not run</h2>
        <ul class="plain">
        {{#.waits}}
        <li>{{#.href}}<a href="{{.}}">{{/.href}}It {{.text}}{{#.href}}</a>{{/.href}}.</li>
        {{/.waits}}
        </ul>
        {{^.waits}}
        <p class="empty">Nothing that the store knows keeps it from running.</p>
        {{/.waits}}
        {{#.hasHolds}}
        {{#.holds}}
        {{>table}}
        {{/.holds}}
        {{/.hasHolds}}
        </section>
        {{/.isQueued}}
        {{#.actions}}
        <section id="actions" data-live aria-labelledby="actions-title">
        <h2 id="actions-title">Actions</h2>
        <div class="actions">
        {{#.retry}}
        {{>form}}
        {{/.retry}}
        {{#.skip}}
        <a href="{{.}}">Skip…</a>
        {{/.skip}}
        {{#.delete}}
        <a href="{{.}}">Delete…</a>
        {{/.delete}}
        <form method="post" action="{{.hold}}">
        {{>form-token}}
        <label>Hold <input name="hold" value="{{.holdName}}" required></label>
        <label>for <input name="for" placeholder="until its release"></label>
        <button type="submit">Hold</button>
        </form>
        <form method="post" action="{{.priority}}">
        {{>form-token}}
        <label>Priority <input name="priority" type="number" value="{{.priorityValue}}" required></label>
        <button type="submit">Set priority</button>
        </form>
        </div>
        </section>
        {{/.actions}}
        <section id="tags" data-live aria-labelledby="tags-title">
        <h2 id="tags-title">Tags</h2>
        <ul class="tags">
        {{#.tags}}
        <li>{{#.href}}<a href="{{.}}">{{/.href}}{{.name}}{{#.href}}</a>{{/.href}}</li>
        {{/.tags}}
        </ul>
        {{^.tags}}
        <p class="empty">The operation has no tags.</p>
        {{/.tags}}
        </section>
        <section id="payload" data-live aria-labelledby="payload-title">
        <h2 id="payload-title">Payload</h2>
        {{#.payload}}
        <pre tabindex="0">{{.text}}</pre>
        {{#.download}}
        <p><a href="{{.}}" download>Download the whole payload</a></p>
        {{/.download}}
        {{/.payload}}
        </section>
        {{#.result}}
        <section id="result" data-live aria-labelledby="result-title">
        <h2 id="result-title">Result</h2>
        <pre tabindex="0">{{.text}}</pre>
        {{#.download}}
        <p><a href="{{.}}" download>Download the whole result</a></p>
        {{/.download}}
        </section>
        {{/.result}}
        <section id="failures" data-live aria-labelledby="failures-title">
        <h2 id="failures-title">Failures</h2>
        {{#.failures}}
        {{>table}}
        {{/.failures}}
        </section>
        <section id="journal" data-live aria-labelledby="journal-title">
        <h2 id="journal-title">Journal</h2>
        <ol class="timeline">
        {{#.steps}}
        <li>
        {{#.time}}
        {{>cell}}
        {{/.time}}
        {{#.status}}
        {{>cell}}
        {{/.status}}
        <span class="note">attempts: {{.attempts}}</span>
        {{#.reason}}
        <p>{{.}}</p>
        {{/.reason}}
        </li>
        {{/.steps}}
        </ol>
        {{^.steps}}
        <p class="empty">No change of the status is recorded. Pipelines record them with an option.</p>
        {{/.steps}}
        </section>

        """
    )
}
