import Logging

/// How a console recognises the persons who use it.
public enum ConsoleAuthentication: Sendable {
    /// Everyone who reaches the console may use it. For a console that only this machine reaches.
    case none
    /// A person enters the token once, and a cookie replaces it. Use at least 16 random bytes.
    case token(String)
    /// The application has authenticated the request before it reaches the routes of the console, for example with a
    /// middleware. ``StoreConsole/addRoutes(to:person:)`` takes a closure that names the person.
    case application
}

/// The options of a console.
public struct ConsoleOptions: Sendable {
    /// The title of all pages, for example the name of the service.
    public var title: String
    /// Whether persons may change the store. Otherwise, the pages have no forms, and requests to change it are refused.
    public var allowsChanges: Bool
    /// How the console recognises persons.
    public var authentication: ConsoleAuthentication
    /// The author of changes, unless the application names the person of each request.
    public var operatorName: String
    /// The hosts in the addresses of the console, without ports, such as `localhost`. Requests with another host are
    /// refused, which protects a console on the loopback interface from DNS rebinding. Nil for any host.
    public var allowedHosts: [String]?
    /// The greatest number of browser windows that receive live updates at once.
    public var maximumEventClients: Int
    /// The greatest number of pages that read the store at once. Further requests wait.
    public var maximumReaders: Int
    /// Receives a line at the level `notice` for each change, and failures at the level `error`.
    public var logger: Logger

    /// Creates options.
    public init(
        title: String = "Strata",
        allowsChanges: Bool = false,
        authentication: ConsoleAuthentication,
        operatorName: String = "console",
        allowedHosts: [String]? = nil,
        maximumEventClients: Int = 64,
        maximumReaders: Int = 4,
        logger: Logger = Logger(label: "strata.console")
    ) {
        self.title = title
        self.allowsChanges = allowsChanges
        self.authentication = authentication
        self.operatorName = operatorName
        self.allowedHosts = allowedHosts
        self.maximumEventClients = maximumEventClients
        self.maximumReaders = maximumReaders
        self.logger = logger
    }
}
