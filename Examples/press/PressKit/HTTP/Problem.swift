import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Strata

/// An error as an answer, in the form of RFC 9457: `application/problem+json`.
struct Problem: HTTPResponseError, Sendable {
    /// A value of the request that is not valid.
    struct Fault: Encodable, Sendable {
        let field: String?
        let message: String
    }

    let status: HTTPResponse.Status
    let detail: String?
    let faults: [Fault]
    var headers: HTTPFields = [:]

    init(_ status: HTTPResponse.Status, _ detail: String? = nil, faults: [Fault] = []) {
        self.status = status
        self.detail = detail
        self.faults = faults
        if status == .serviceUnavailable { headers[.retryAfter] = "1" }
    }

    private struct Body: Encodable {
        let type = "about:blank"
        let title: String
        let status: Int
        let detail: String?
        let errors: [Fault]?

        enum CodingKeys: String, CodingKey { case type, title, status, detail, errors }
    }

    var response: Response {
        let body = Body(
            title: status.reasonPhrase,
            status: status.code,
            detail: detail,
            errors: faults.isEmpty ? nil : faults
        )
        var headers = headers
        headers[.contentType] = "application/problem+json"
        // Texts and numbers can always be encoded.
        let data = (try? JSONEncoder().encode(body)) ?? Data()
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: data)))
    }

    func response(from request: Request, context: some RequestContext) throws -> Response {
        request.method == .head ? response.createHeadResponse() : response
    }
}

extension Problem {
    /// No object has this address.
    static var notFound: Problem { Problem(.notFound) }

    static func unprocessable(_ field: String, _ message: String) -> Problem {
        Problem(.unprocessableContent, faults: [Fault(field: field, message: message)])
    }

    /// The answer to an error. Unknown errors are 500, and their texts stay in the log.
    init(_ error: any Error) {
        switch error {
        case let problem as Problem: self = problem
        case let error as StrataError: self = Problem(error)
        case let error as DecodingError: self = Problem(error)
        case is NIOTooManyBytesError: self.init(.contentTooLarge)
        case let error as any HTTPResponseError: self.init(error.status)
        case let error as POSIXError where error.code == .ENOSPC || error.code == .EDQUOT:
            self.init(.serviceUnavailable, "The disk is full. Nothing was written.")
        case is IOError, is ChannelError: self.init(.badRequest, "The connection has ended before the body.")
        case is CancellationError: self.init(.serviceUnavailable, "The service is shutting down.")
        default: self.init(.internalServerError)
        }
    }

    private init(_ error: StrataError) {
        // Thousands of objects may refer to an object.
        let faults = error.details.prefix(Self.maximumFaults).map { Fault(field: $0.column, message: $0.message) }
        switch error.code {
        case .validation: self.init(.unprocessableContent, faults: faults)
        case .notUnique: self.init(.conflict, "Another object has the same value.", faults: Self.taken(error))
        case .deleteDenied:
            let count = error.details.count
            self.init(.conflict, "Other objects refer to this one: \(count).", faults: faults)
        case .conflict: self.init(.conflict, "Another request has changed the object.", faults: faults)
        case .missingReference: self.init(.unprocessableContent, "The request refers to an object that does not exist.")
        case .idOfOtherStore: self.init(.notFound)
        case .invalidToken, .invalidQuery: self.init(.badRequest, error.message)
        case .busy: self.init(.serviceUnavailable, "The store is busy.")
        case .diskFull: self.init(.serviceUnavailable, "The disk is full. Nothing was written.")
        case .closed: self.init(.serviceUnavailable, "The service is shutting down.")
        case .unreachable: self.init(.serviceUnavailable, "The database does not answer. Nothing was written.")
        case .uncertain:
            self.init(.serviceUnavailable, "The answer of the database was lost. Send the request again, with its key.")
        case .homeBehind, .homeExpired:
            self.init(.serviceUnavailable, "This node has to copy the store again.")
        default: self.init(.internalServerError)
        }
    }

    /// The greatest number of faults in an answer.
    static let maximumFaults = 10

    /// The fields whose values are in use. The messages of the store contain the id of the other object, which is a secret
    /// for subscribers.
    private static func taken(_ error: StrataError) -> [Fault] {
        let fields = Set(error.details.compactMap(\.column)).sorted()
        return fields.prefix(maximumFaults).map { Fault(field: $0, message: "is already in use") }
    }

    /// A type in the words of JSON.
    private static func name(of type: Any.Type) -> String {
        if type == String.self { return "a text" }
        if type == Bool.self { return "true or false" }
        return "\(type)".hasPrefix("Dictionary") ? "an object" : "of another type"
    }

    private init(_ error: DecodingError) {
        let (path, text): ([any CodingKey], String) =
            switch error {
            case .keyNotFound(let key, let context): (context.codingPath + [key], "is missing")
            case .valueNotFound(_, let context): (context.codingPath, "must not be null")
            case .typeMismatch(let type, let context): (context.codingPath, "must be \(Self.name(of: type))")
            case .dataCorrupted(let context): (context.codingPath, "is not valid")
            @unknown default: ([], "is not valid")
            }
        let field = path.map(\.stringValue).joined(separator: ".")
        self.init(
            .badRequest,
            "The body is not valid JSON of the expected form.",
            faults: [Fault(field: field.isEmpty ? nil : field, message: text)]
        )
    }
}
