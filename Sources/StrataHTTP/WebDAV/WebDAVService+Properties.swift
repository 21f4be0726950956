import Foundation
import Strata
import StrataRemotes

extension WebDAVService {
    private static let question = Data(
        """
        <?xml version="1.0" encoding="utf-8"?>
        <D:propfind xmlns:D="DAV:"><D:prop>\
        <D:resourcetype/><D:getetag/><D:getcontentlength/><D:getlastmodified/>\
        </D:prop></D:propfind>
        """.utf8
    )

    /// The properties of a resource and of its direct children, from a multistatus.
    struct Properties {
        /// The resource itself. Nil if the server does not mention it, or reports it as gone.
        var own: RemoteObject?
        var children: [RemoteObject] = []
        /// Whether `children` is certainly complete. False if the answer contains a name that no key can express or
        /// that lies outside the resource, and if the answer is empty.
        var isComplete = true
    }

    /// Requests the properties of a resource and of its direct children.
    ///
    /// - Returns: nil if the resource does not exist.
    /// - Throws: `unsupported` if the server does not support `PROPFIND`, as with write-only WebDAV; `malformedAnswer`
    ///   if the answer is not a multistatus, or is about another resource; the server's error for the resource.
    func properties(_ key: RemoteKey, isFolder: Bool, depth: Int) async throws -> Properties? {
        let answer = try await send(
            "PROPFIND",
            key,
            isFolder: isFolder,
            headers: [("depth", String(depth)), ("content-type", "application/xml")],
            body: .data(Self.question)
        )
        if answer.status == 404 || answer.status == 410 {
            await answer.discard()
            return nil
        }
        if !isFolder, isRedirectToCollection(answer) {
            await answer.discard()
            return Properties(own: RemoteObject(key: key, isFolder: true))
        }
        guard answer.isSuccess else { throw await error(answer) }
        let data = try await answer.data(limit: Self.documentLimit)
        guard answer.status == 207, let root = XMLNode.parse(data), root.name == "multistatus" else {
            throw RemoteError(
                answer.status == 207 && XMLNode.isCut(data) ? .answerLost : .malformedAnswer,
                "The answer of \(endpoint.authority) to PROPFIND is not a complete multistatus. A login page or a "
                    + "proxy may have answered.",
                key: key,
                status: answer.status
            )
        }
        var properties = Properties()
        var (isNamed, hasUnreadable) = (false, false)
        let responses = root.children.filter { $0.name == "response" }
        for response in responses {
            guard let segments = response.text(of: "href").flatMap(segments(href:)),
                let found = RemoteKey(found: segments)
            else {
                hasUnreadable = true
                continue
            }
            if found == key {
                isNamed = true
                properties.own = try object(response, key)
            } else if !found.isWithin(key) {
                // This includes the same folder under another name, and that folder's contents.
                properties.isComplete = false
            } else if depth > 0, found.parent == key, let last = found.last, !Probe.owns(last),
                let object = try object(response, found)
            {
                properties.children.append(object)
            }
        }
        if depth == 0, !isNamed, responses.isEmpty || hasUnreadable {
            // An unrelated answer does not prove that the resource is gone.
            throw RemoteError(
                .malformedAnswer,
                "The answer of \(endpoint.authority) to PROPFIND of '\(key)' is about another resource.",
                key: key,
                status: answer.status
            )
        }
        if hasUnreadable { properties.isComplete = false }
        // An empty answer proves nothing, not even that the folder is empty.
        if !isNamed, properties.children.isEmpty { properties.isComplete = false }
        return properties
    }

    /// The path segments of a reference below this remote's collection. The reference is a path or a whole URL. Nil if
    /// it lies outside the collection.
    func segments(href: String) -> [String]? {
        guard let all = Self.names(in: Self.path(of: href)), let base = Self.names(in: endpoint.basePath[...]),
            all.starts(with: base)
        else { return nil }
        return Array(all.dropFirst(base.count))
    }

    /// The path of a reference, which may be a whole URL.
    static func path(of reference: String) -> Substring {
        // Compares bytes, because a slash and a following combining mark are one character. A path may contain a name
        // that looks like a scheme.
        let (bytes, slash) = (reference.utf8, UInt8(ascii: "/"))
        guard bytes.first != slash, let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            bytes[colon...].starts(with: "://".utf8)
        else { return reference[...] }
        let host = bytes.index(colon, offsetBy: 3)
        return bytes[host...].firstIndex(of: slash).map { reference[$0...] } ?? "/"
    }

    /// The decoded segments of a path. Nil if one of them cannot be decoded.
    static func names(in path: Substring) -> [String]? {
        let parts = path.utf8.split(separator: UInt8(ascii: "/"))
        let decoded = parts.compactMap { PercentEncoding.decode(Substring($0)) }
        return decoded.count == parts.count ? decoded : nil
    }

    /// The object that a response describes. Nil if the response's status says that it does not exist.
    ///
    /// - Throws: the error for another status. An object whose properties are unavailable at the moment is not gone.
    private func object(_ response: XMLNode, _ key: RemoteKey) throws -> RemoteObject? {
        if let text = response.text(of: "status"), !Self.isSuccess(text) {
            let status = Self.status(text) ?? 500
            if status == 404 || status == 410 { return nil }
            throw RemoteError(
                HTTPStatus.kind(status, hasRetryAfter: false),
                "\(endpoint.authority) answers \(status) for \(key) in a list.",
                key: key,
                status: status
            )
        }
        var object = RemoteObject(key: key)
        let parts = response.children.filter { $0.name == "propstat" }
        let readable = parts.filter { $0.text(of: "status").map(Self.isSuccess) ?? true }
        if readable.isEmpty, let status = parts.first?.text(of: "status").flatMap(Self.status), status != 404 {
            // Not even the resource type is known.
            throw RemoteError(
                HTTPStatus.kind(status, hasRetryAfter: false),
                "\(endpoint.authority) answers \(status) for the properties of \(key).",
                key: key,
                status: status
            )
        }
        for part in readable {
            guard let properties = part.child("prop") else { continue }
            for property in properties.children where property.namespace == "DAV:" {
                let text = property.trimmed
                switch property.name {
                case "resourcetype": object.isFolder = property.child("collection") != nil
                case "getetag": object.eTag = text.isEmpty ? nil : ETag(header: text)
                case "getcontentlength": object.size = Int64(text)
                case "getlastmodified": object.modifiedAt = HTTPDate.parse(text) ?? HTTPDate.parseISO8601(text)
                default: continue
                }
            }
        }
        if object.isFolder { (object.eTag, object.size) = (nil, nil) }
        return object
    }

    /// Whether a status line such as `HTTP/1.1 200 OK` reports success.
    private static func isSuccess(_ status: String) -> Bool { self.status(status).map { $0 / 100 == 2 } ?? false }

    /// The status code of a status line such as `HTTP/1.1 200 OK`.
    private static func status(_ text: String) -> Int? {
        text.split(atBytes: " ").dropFirst().first.flatMap { Int($0) }
    }
}
