import Hummingbird
import NIOHTTP1

/// Answers errors with problems, and logs those that are faults of the service.
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
            return problem.response
        }
    }
}

/// Refuses methods that the service does not have. Metrics have a series for each method, so their number must not
/// depend on the clients.
struct MethodMiddleware<Context: RequestContext>: RouterMiddleware {
    private static var methods: [HTTPRequest.Method] { [.get, .head, .post, .put, .delete] }

    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard Self.methods.contains(request.method) else {
            var problem = Problem(.methodNotAllowed)
            problem.headers[.allow] = Self.methods.map(\.rawValue).joined(separator: ", ")
            return problem.response
        }
        return try await next(request, context)
    }
}
