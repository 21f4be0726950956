import HTTPTypes
import Hummingbird
import NIOHTTP1

/// Turns errors into problems, and logs those that are faults of the service.
///
/// The problems are thrown, so that the middlewares around this one see an error with its status. The router makes the
/// answers.
struct ProblemMiddleware<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPParserError {
            // Hummingbird closes the connection.
            throw error
        } catch {
            let problem = Problem(error)
            if problem.status.code >= 500 {
                context.logger.error("a request has failed", metadata: ["error": "\(error)"])
            }
            throw problem
        }
    }
}

/// Refuses methods that a path does not have. Metrics have a series for each method, so unknown methods must not get
/// further: the number of series must not depend on the clients.
struct MethodMiddleware<Context: RequestContext>: RouterMiddleware {
    let table: MethodTable

    private static var methods: [HTTPRequest.Method] { [.get, .head, .post, .put, .delete] }

    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard let allowed = table.methods(of: request.uri.path) else {
            // Perhaps a path of the console.
            guard Self.methods.contains(request.method) else { throw Problem.notFound }
            return try await next(request, context)
        }
        guard allowed.contains(request.method) else {
            var problem = Problem(.methodNotAllowed)
            problem.headers[.allow] = allowed.map(\.rawValue).joined(separator: ", ")
            throw problem
        }
        return try await next(request, context)
    }
}

/// The methods of each path of the service.
struct MethodTable: Sendable {
    private struct Entry: Sendable {
        let path: RouterPath
        var methods: [HTTPRequest.Method]
    }

    private let entries: [Entry]

    /// - Parameter router: has the routes. A path with GET also has HEAD.
    init(_ router: Router<PressContext>) {
        var entries: [Entry] = []
        for route in router.routes {
            let methods: [HTTPRequest.Method] = route.method == .get ? [.get, .head] : [route.method]
            if let index = entries.firstIndex(where: { $0.path == route.path }) {
                entries[index].methods += methods
            } else {
                entries.append(Entry(path: route.path, methods: methods))
            }
        }
        self.entries = entries
    }

    /// The methods of a path; nil if the service does not have the path.
    func methods(of path: String) -> [HTTPRequest.Method]? {
        let parts = path.split(separator: "/")
        let entry = entries.first { entry in
            let components = entry.path.components
            return components.count == parts.count && zip(components, parts).allSatisfy { $0 ~= $1 }
        }
        return entry?.methods
    }
}
