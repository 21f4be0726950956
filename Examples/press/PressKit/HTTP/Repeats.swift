import HTTPTypes
import Hummingbird
import Strata

/// The key by which the service recognises a repeated request: the header `Idempotency-Key`.
///
/// A client that gets 502, 503 or no answer does not know whether its request has taken effect. It sends the request
/// again, with the same key, and any node answers as the first one would have.
enum IdempotencyKey {
    private static let name = HTTPField.Name("Idempotency-Key")!  // the name is valid

    /// - Returns: nil if the request does not have the header.
    /// - Throws: ``Problem`` with 400 for a key that is empty or too long.
    static func key(of request: Request) throws -> String? {
        guard let key = request.headers[name] else { return nil }
        guard (1...200).contains(key.utf8.count) else {
            throw Problem(.badRequest, "Idempotency-Key must have 1 to 200 bytes.")
        }
        return key
    }

    /// The answer to a new request with the key of another one. Without it, the client would take the article of the
    /// other request for its own.
    static var otherRequest: Problem {
        Problem(.unprocessableContent, "Another request has this Idempotency-Key. Send a new request with a new key.")
    }
}

/// Lets the clients of a fleet read their own writes: the header `History-Token`.
///
/// The answer to a change has the token of the newest commit. A client sends it with its next requests, and the node
/// that gets one of them waits until its copy has this commit.
struct HistoryMiddleware<Context: RequestContext>: RouterMiddleware {
    /// The stack of a store that several nodes share; nil for a store without a home.
    let stack: ContextStack?

    private static var name: HTTPField.Name { HTTPField.Name("History-Token")! }  // the name is valid

    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard let stack else { return try await next(request, context) }
        if let token = request.headers[Self.name].flatMap({ HistoryToken($0) }) {
            do {
                try await stack.catchUp(to: token)
            } catch let error as StrataError where error.code == .expiredToken {
                // Not a token of this store. Clients may send any text.
            }
        }
        var response = try await next(request, context)
        if request.method != .get, request.method != .head {
            response.headers[Self.name] = "\(stack.historyToken)"
        }
        return response
    }
}
