import Foundation
import HTTPTypes
import Hummingbird

/// The entity tags of versions: `"3"` for version 3.
enum EntityTag {
    static func text(_ version: Int) -> String { "\"\(version)\"" }

    /// The tags of a header, such as `"3", W/"4"`.
    fileprivate static func list(_ header: String) -> [String] {
        header.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// Whether the client already has a version, by `If-None-Match`. This comparison ignores the mark of weak tags.
    static func isKnown(_ version: Int, to request: Request) -> Bool { isKnown("\(version)", to: request) }

    /// The same for a tag that is a text, without its quotation marks.
    static func isKnown(_ tag: String, to request: Request) -> Bool {
        guard let header = request.headers[.ifNoneMatch] else { return false }
        let tags = list(header)
        return tags.contains("*") || tags.contains { $0 == "\"\(tag)\"" || $0 == "W/\"\(tag)\"" }
    }
}

/// The condition of an edit: the header `If-Match`.
struct IfMatch: Sendable {
    private let tags: [String]

    /// - Throws: ``Problem`` with 428 if the request does not have the header. Without it, an editor would overwrite
    ///   edits that it has not seen.
    init(_ request: Request) throws {
        guard let header = request.headers[.ifMatch] else {
            throw Problem(.preconditionRequired, "Send the ETag of the version that you have read, as If-Match.")
        }
        tags = EntityTag.list(header)
    }

    /// Weak tags never match, because two versions may share one.
    func allows(_ version: Int) -> Bool { tags.contains("*") || tags.contains(EntityTag.text(version)) }
}
