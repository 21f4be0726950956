import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Strata

/// The context of a request.
struct PressContext: RequestContext {
    var coreContext: CoreRequestContextStorage

    init(source: Source) { coreContext = CoreRequestContextStorage(source: source) }
}

/// The JSON of requests and answers: rows of the models, with dates as in RFC 3339.
enum PressJSON {
    /// Articles in lists come without their bodies.
    static let list = RowCoding().omitting(\.body, of: Article.self)

    static func encode(_ value: some Encodable, _ coding: RowCoding = RowCoding()) throws -> Data {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.userInfo[.rowCoding] = coding
        return try encoder.encode(value)
    }

    static func response(
        _ value: some Encodable,
        _ coding: RowCoding = RowCoding(),
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = [:]
    ) throws -> Response {
        var headers = headers
        headers[.contentType] = "application/json; charset=utf-8"
        let data = try encode(value, coding)
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: data)))
    }

    /// Decodes the body of a request.
    ///
    /// - Throws: ``Problem`` with 415 for another type of body, and 422 for unknown fields; `NIOTooManyBytesError`,
    ///   `DecodingError`.
    static func decode<Value: Draft>(_ type: Value.Type, from request: Request, limit: Int) async throws -> Value {
        let mediaType = request.headers[.contentType]?.lowercased() ?? ""
        guard mediaType == "application/json" || mediaType.hasPrefix("application/json;") else {
            throw Problem(.unsupportedMediaType, "Send application/json.")
        }
        let body = try await request.body.collect(upTo: limit)
        let data = Data(body.readableBytesView)
        let decoder = JSONDecoder()
        let unknown = try decoder.decode(FieldNames.self, from: data).names.subtracting(Value.fields).sorted()
        guard unknown.isEmpty else {
            let faults = unknown.prefix(Problem.maximumFaults).map { name in
                // A name may be as long as the body.
                Problem.Fault(
                    field: String(decoding: name.utf8.prefix(100), as: UTF8.self),
                    message: "is not a field of this object"
                )
            }
            throw Problem(.unprocessableContent, faults: faults)
        }
        return try decoder.decode(Value.self, from: data)
    }
}

/// An object as a client sends it.
protocol Draft: Decodable, Sendable {
    /// The names of the fields. Others are refused, because a misspelt field would have no effect.
    static var fields: Set<String> { get }
}

/// The names of the fields of a JSON object.
private struct FieldNames: Decodable {
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }

    let names: Set<String>

    init(from decoder: any Decoder) throws {
        names = Set(try decoder.container(keyedBy: Name.self).allKeys.map(\.stringValue))
    }
}

/// A part of a list.
struct Page<Item: Encodable & Sendable>: Encodable, Sendable {
    let items: [Item]
    /// The address of the next part; nil at the end of the list.
    let next: String?
}

/// The position and the size of a requested page: `?after=TOKEN&size=20`.
struct PageQuery: Sendable {
    let after: PageToken?
    let size: Int

    /// - Throws: ``Problem`` with 400.
    init(_ request: Request) throws {
        let parameters = request.uri.queryParameters
        if let text = parameters.get("after") {
            guard let token = PageToken(text) else { throw Problem(.badRequest, "\"after\" is not a page token.") }
            after = token
        } else {
            after = nil
        }
        if let text = parameters.get("size") {
            guard let number = Int(text), (1...100).contains(number) else {
                throw Problem(.badRequest, "\"size\" must be a number from 1 to 100.")
            }
            size = number
        } else {
            size = 20
        }
    }

    /// A page as an answer.
    func response<Row: ModelRow>(_ page: QueryPage<Row>, of request: Request) throws -> Response {
        let next = page.next.map { "\(request.uri.path)?after=\($0)&size=\(size)" }
        return try PressJSON.response(Page(items: page.elements, next: next), PressJSON.list)
    }
}

extension RequestContext {
    /// The id in the path of the request.
    ///
    /// - Throws: ``Problem`` with 404 for a text that is not an id of the model.
    func objectID<Object: Model>(_ model: Object.Type) throws -> ObjectID<Object> {
        guard let id = parameters.get("id").flatMap({ ObjectID<Object>($0) }) else { throw Problem.notFound }
        return id
    }
}

extension Versioned {
    /// The headers of an answer about a version.
    static func headers(_ version: Int) -> HTTPFields { [.eTag: EntityTag.text(version)] }
}
