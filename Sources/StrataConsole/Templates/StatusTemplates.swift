/// The values of a page that reports a failure.
struct FailureValues: Sendable {
    let status: Int
    let message: String
    /// The page with the form; nil for a request without one.
    let back: TitledLink?
}

/// The values of the page that asks for the token.
struct LoginValues: Sendable {
    /// The path of the page that follows, with its query.
    let next: String
    let hasFailed: Bool
}

/// The values of the page instead of one whose models were not opened.
struct UnopenedValues: Sendable {
    /// The name of the models.
    let models: String
}

extension PageTemplate {
    static let failure = PageTemplate(
        "failure",
        """
        <p class="failure" role="alert">{{.message}}</p>
        {{#.back}}
        <p><a href="{{.href}}">{{.title}}</a></p>
        {{/.back}}
        <p>Status {{.status}}. <a href="{{base}}">Go to the overview</a></p>

        """
    )

    static let unopened = PageTemplate(
        "unopened",
        """
        <p class="empty">This page needs the models of {{.models}}. The store does not have them, or the program that \
        shows this console has opened the store without them.</p>

        """
    )

    static let login = PageTemplate(
        "login",
        """
        {{#.hasFailed}}
        <p class="failure" role="alert">This token is wrong.</p>
        {{/.hasFailed}}
        <form method="post" action="{{base}}login" class="fields">
        <input type="hidden" name="next" value="{{.next}}">
        <p><label for="token">Token</label>
        <input id="token" name="token" type="password" autocomplete="current-password" required autofocus></p>
        <p><button type="submit">Enter</button></p>
        </form>
        <p class="note">The program that serves this console has the token.</p>

        """
    )
}
