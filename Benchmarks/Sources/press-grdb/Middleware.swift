import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1

/// An error as an answer.
struct Problem: Error {
    let status: HTTPResponse.Status
    let detail: String?

    init(_ status: HTTPResponse.Status, _ detail: String? = nil) { (self.status, self.detail) = (status, detail) }

    init(_ error: any Error) {
        switch error {
        case let problem as Problem: self = problem
        case StoreError.notFound: self.init(.notFound)
        case StoreError.changed: self.init(.preconditionFailed, "The object has changed. Read it again.")
        case is DecodingError: self.init(.badRequest)
        case is NIOTooManyBytesError: self.init(.contentTooLarge)
        case let error as any HTTPResponseError: self.init(error.status)
        default: self.init(.internalServerError)
        }
    }

    private struct Body: Encodable {
        let title: String
        let status: Int
        let detail: String?
    }

    var response: Response {
        let body = Body(title: status.reasonPhrase, status: status.code, detail: detail)
        // Texts and numbers can always be encoded.
        let data = (try? JSONEncoder().encode(body)) ?? Data()
        return Response(
            status: status,
            headers: [.contentType: "application/problem+json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: data))
        )
    }
}

/// Answers errors with problems.
struct ProblemMiddleware<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPParserError {
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

/// Refuses methods that the service does not have.
struct MethodMiddleware<Context: RequestContext>: RouterMiddleware {
    private static var methods: [HTTPRequest.Method] { [.get, .head, .post, .put, .delete] }

    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard Self.methods.contains(request.method) else { return Problem(.methodNotAllowed).response }
        return try await next(request, context)
    }
}
