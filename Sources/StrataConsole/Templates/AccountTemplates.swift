extension PageTemplate {
    /// The values are ``AccountsPage/Values``.
    static let accounts = PageTemplate(
        "accounts",
        """
        <section id="accounts" data-live aria-label="Accounts">
        {{#.table}}
        {{>table}}
        {{/.table}}
        </section>

        """
    )

    /// An ``AccountChoice``.
    static let accountChoice = PageTemplate(
        "account-choice",
        """
        {{#.isEmpty}}
        <p class="empty">The store has no accounts.</p>
        {{/.isEmpty}}
        {{^.account}}
        {{^.isEmpty}}
        <nav class="pager" aria-label="Accounts">
        <span>Choose an account:</span>
        {{#.links}}<a href="{{.href}}">{{.title}}</a> {{/.links}}
        </nav>
        {{/.isEmpty}}
        {{/.account}}

        """
    )

    /// The values are ``TreePage/Values``.
    static let tree = PageTemplate(
        "tree",
        """
        {{#.choice}}
        {{>account-choice}}
        {{/.choice}}
        {{#.folder}}
        <nav class="pager" aria-label="Trunks">
        {{#.trunks}}<a href="{{.href}}">{{.title}}</a> {{/.trunks}}
        </nav>
        <nav class="pager" aria-label="Folders above">
        {{#.ancestors}}<a href="{{.href}}">{{.title}}</a> <span>/</span> {{/.ancestors}}
        </nav>
        <section id="node" data-live aria-labelledby="node-title">
        <h2 id="node-title">Node</h2>
        {{#.facts}}
        {{>facts}}
        {{/.facts}}
        </section>
        <section id="children" data-live aria-labelledby="children-title">
        <h2 id="children-title">Content</h2>
        {{#.children}}
        {{>table}}
        {{/.children}}
        </section>
        <p class="note">Queued operations upload, move and delete. The remote is not asked. Objects that a pull \
        ignores are not in the tree: the application is notified of them.</p>
        {{/.folder}}

        """
    )

    /// The values are ``TransfersPage/Values``.
    static let transfers = PageTemplate(
        "transfers",
        """
        {{#.choice}}
        {{>account-choice}}
        {{/.choice}}
        <section id="transfers" data-live aria-label="Transfers">
        {{#.table}}
        {{>table}}
        {{/.table}}
        {{#.note}}
        <p class="note">{{.}}</p>
        {{/.note}}
        </section>
        <p class="note">A store records the bytes of uploads in parts that have arrived, and not those of other \
        transfers. It does not record which downloads run.</p>

        """
    )

    /// The values are ``ConflictsPage/Values``.
    static let conflicts = PageTemplate(
        "conflicts",
        """
        {{#.choice}}
        {{>account-choice}}
        {{/.choice}}
        <section id="conflicts" data-live aria-label="Conflicts">
        {{#.table}}
        {{>table}}
        {{/.table}}
        </section>
        <p class="note">The uploads of a node in conflict wait until the application resolves the conflict.</p>

        """
    )
}
