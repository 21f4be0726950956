import Hummingbird

extension StoreConsole {
    /// Adds the routes of the console below a router or a group of routes.
    ///
    /// All links of the console are relative, so that it works below any path, also if a proxy removes a part of the
    /// path. The console answers every path below the group. If the routes are added to the router itself, this is
    /// every path without a route of the application.
    ///
    /// From this call on, the console counts the queued operations every 30 seconds, for the chart of the overview. It
    /// stops when the console is released, or the stack is closed.
    ///
    /// - Parameters:
    ///   - routes: a router or a group. Its middlewares run before the console.
    ///   - person: the name of the person who makes a request, for the history of the store and the log; nil if the
    ///     application does not know the person, which refuses changes. Without the closure, the author of changes is
    ///     ``ConsoleOptions/operatorName``.
    public func addRoutes<Context: RequestContext>(
        to routes: some RouterMethods<Context>,
        person: (@Sendable (Request, Context) -> String?)? = nil
    ) {
        sampler.start()
        for route in ConsoleRoute.all {
            for method in Self.methods {
                routes.on(RouterPath(route.path), method: method) { request, context -> Response in
                    let name: String? = if let person { person(request, context) } else { self.options.operatorName }
                    let depth = route.depth ?? context.parameters.getCatchAll().count
                    return await self.respond(to: request, at: route.target, depth: depth, person: name)
                }
            }
        }
    }

    /// Other methods get an answer of the console too, so that it has the headers of the console.
    private static let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete, .options, .trace]
}

/// A path of the console, and what answers it.
struct ConsoleRoute: Sendable {
    enum Target: Sendable {
        case page(any ConsolePage)
        case action(any ConsoleAction)
        case download(OperationDownload)
        case asset(ConsoleAsset)
        case events
        case login
        case unknown

        /// The name that may have several values in the query of the address; nil for none.
        var repeatedName: String? {
            switch self {
            case .page(let page): page.repeatedName
            case .action(let action): action.repeatedName
            case .download, .asset, .events, .login, .unknown: nil
            }
        }
    }

    /// The path below the console, in the form of a router.
    let path: String
    let target: Target
    /// The number of parts of the path; nil if it varies.
    let depth: Int?

    private init(_ path: String, _ target: Target) {
        self.path = path
        self.target = target
        depth = path.split(atBytes: "/").count
    }

    private init(_ target: Target) {
        (path, self.target, depth) = ("**", target, nil)
    }

    /// Actions are below `actions/`.
    static let actionPrefix = "actions/"

    static let all: [ConsoleRoute] = {
        let pages = ConsolePages.all.map { page in ConsoleRoute(page.path, .page(page)) }
        let actions = ConsoleActions.all.map { action in ConsoleRoute(actionPrefix + action.path, .action(action)) }
        let assets = ConsoleAsset.all.map { asset in ConsoleRoute(asset.path, .asset(asset)) }
        let downloads = [ConsoleRoute(OperationDownload.path, .download(OperationDownload()))]
        let others = [ConsoleRoute("events", .events), ConsoleRoute("login", .login), ConsoleRoute(.unknown)]
        return pages + actions + downloads + assets + others
    }()
}
