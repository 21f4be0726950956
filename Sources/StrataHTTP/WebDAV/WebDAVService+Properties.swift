import Foundation
import StrataCloud

extension WebDAVService {
    private static let question = Data(
        """
        <?xml version="1.0" encoding="utf-8"?>
        <D:propfind xmlns:D="DAV:"><D:prop>\
        <D:resourcetype/><D:getetag/><D:getcontentlength/><D:getlastmodified/>\
        </D:prop></D:propfind>
        """.utf8
    )

    /// What the server says of a resource, and of those directly in it.
    ///
    /// - Returns: that resource first, where the server tells of it; nil where there is none. What has no key here, since its name is no text or
    ///   holds a slash, is only counted.
    /// - Throws: `unsupported` where the server does not know the request, as with WebDAV for writing only; what the server says instead of a resource.
    func properties(_ key: RemoteKey, isFolder: Bool = false, depth: Int) async throws -> (
        own: RemoteObject?, children: [RemoteObject], nameless: Int
    )? {
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
        guard answer.status == 207 else { throw await error(answer) }
        guard let root = XMLNode.parse(try await answer.data(limit: Self.documentLimit)), root.name == "multistatus"
        else {
            throw RemoteError(
                .malformedAnswer,
                "What \(endpoint.authority) answers to PROPFIND is no multistatus.",
                key: key,
                status: answer.status
            )
        }
        var own: RemoteObject?
        var children: [RemoteObject] = []
        var nameless = 0
        for response in root.children where response.name == "response" {
            guard let segments = response.text(of: "href").flatMap(segments(href:)),
                let found = RemoteKey(found: segments)
            else {
                nameless += 1
                continue
            }
            if found == key {
                own = try object(response, key)
            } else if depth > 0, found.parent == key, let last = found.last, !Probe.owns(last),
                let object = try object(response, found)
            {
                children.append(object)
            }
        }
        return (own, children, nameless)
    }

    /// The names below the collection of this remote that a reference leads to: a path, or a whole URL. Nil for one that lies elsewhere.
    func segments(href: String) -> [String]? {
        var path = Substring(href)
        if let scheme = path.range(of: "://") {
            guard let slash = path[scheme.upperBound...].firstIndex(of: "/") else { return nil }
            path = path[slash...]
        }
        func split(_ path: Substring) -> [String]? {
            let parts = path.utf8.split(separator: UInt8(ascii: "/"))
            let decoded = parts.compactMap { PercentEncoding.decode(Substring($0)) }
            return decoded.count == parts.count ? decoded : nil
        }
        guard let all = split(path), let base = split(Substring(endpoint.basePath)), all.starts(with: base) else {
            return nil
        }
        return Array(all.dropFirst(base.count))
    }

    /// What a response tells of a resource; nil where its status is that it is not there.
    ///
    /// - Throws: what another status means. What the server has and cannot tell of just now is not gone.
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
        for part in response.children where part.name == "propstat" {
            guard part.text(of: "status").map(Self.isSuccess) ?? true, let properties = part.child("prop") else {
                continue
            }
            for property in properties.children where property.namespace == "DAV:" {
                let text = property.trimmed
                switch property.name {
                case "resourcetype": object.isFolder = property.child("collection") != nil
                case "getetag": object.eTag = text.isEmpty ? nil : ETag(header: text)
                case "getcontentlength": object.size = Int64(text)
                case "getlastmodified": object.modifiedAt = HTTPDate.parse(text)
                default: continue
                }
            }
        }
        if object.isFolder { (object.eTag, object.size) = (nil, nil) }
        return object
    }

    /// Whether `HTTP/1.1 200 OK` is a success.
    private static func isSuccess(_ status: String) -> Bool { self.status(status).map { $0 / 100 == 2 } ?? false }

    /// The number in `HTTP/1.1 200 OK`.
    private static func status(_ text: String) -> Int? {
        text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    }
}
