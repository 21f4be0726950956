import Foundation
import StrataCloud
import StrataHTTP
import Synchronization

/// A WebDAV collection in memory. It ignores conditions, as many servers do. A test selects the properties of files
/// that it reports.
final class ScriptedCollection: Sendable {
    /// The properties that the collection reports for a file.
    struct Facts: OptionSet, Sendable {
        let rawValue: Int
        static let eTag = Facts(rawValue: 1)
        static let time = Facts(rawValue: 2)
    }

    /// A file or a folder. A folder does not have bytes.
    struct Entry: Sendable {
        var bytes: Data?
        /// In seconds since 1994-11-06 08:00 GMT.
        var time = 0
        var version = 0
    }

    struct State: Sendable {
        var entries: [String: Entry] = ["/": Entry()]
        var clock = 0
        var version = 0
    }

    let state = Mutex(State())
    private let facts: Facts

    init(_ facts: Facts) { self.facts = facts }

    /// A server for this collection.
    ///
    /// - Parameter fault: the answer to send instead, or nil for the answer of the collection.
    func server(
        fault: @escaping @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step]? = { _ in nil }
    ) async throws -> ScriptedServer {
        try await ScriptedServer { request in fault(request) ?? self.reply(request) }
    }

    /// Writes or deletes a file, as a program on the server does.
    func write(_ path: String, _ text: String?) {
        state.withLock { state in
            state.version += 1
            state.entries[path] = text.map {
                Entry(bytes: Data($0.utf8), time: state.clock, version: state.version)
            }
        }
    }

    func text(_ path: String) -> String? {
        state.withLock { $0.entries[path]?.bytes.map { String(decoding: $0, as: UTF8.self) } }
    }

    /// Lets time pass on the server.
    func wait(seconds: Int) { state.withLock { $0.clock += seconds } }

    private static func path(_ uri: String) -> String {
        let path = uri.contains("://") ? "/" + uri.split(separator: "/").dropFirst(2).joined(separator: "/") : uri
        let names = path.split(separator: "/").compactMap { $0.removingPercentEncoding }
        return "/" + names.joined(separator: "/")
    }

    private static func parent(_ path: String) -> String {
        "/" + path.split(separator: "/").dropLast().joined(separator: "/")
    }

    private func reply(_ request: ScriptedServer.Request) -> [ScriptedServer.Step] {
        state.withLock { state in
            let path = Self.path(request.uri)
            let entry = state.entries[path]
            switch request.method {
            case "PUT", "MKCOL":
                guard state.entries[Self.parent(path)].map({ $0.bytes == nil }) ?? false else { return .answer(409) }
                if request.method == "MKCOL", entry != nil { return .answer(405) }
                state.version += 1
                let bytes = request.method == "PUT" ? request.body : nil
                let new = Entry(bytes: bytes, time: state.clock, version: state.version)
                state.entries[path] = new
                return .answer(entry == nil ? 201 : 204, request.method == "PUT" ? headers(new, isRead: false) : [:])
            case "MOVE", "COPY":
                guard let entry else { return .answer(404) }
                let target = Self.path(request.headers["destination"] ?? "")
                state.entries[target] = entry
                if request.method == "MOVE" { state.entries[path] = nil }
                return .answer(201)
            default: break
            }
            guard let entry else { return .answer(404) }
            switch request.method {
            case "DELETE":
                state.entries[path] = nil
                return .answer(204)
            case "PROPFIND":
                let listed = state.entries.filter { other, _ in
                    other == path
                        || request.headers["depth"] == "1" && other != "/" && Self.parent(other) == path
                }
                let responses = listed.map { response($0.key, $0.value) }.joined()
                return .answer(207, [:], "<D:multistatus xmlns:D=\"DAV:\">\(responses)</D:multistatus>")
            case "HEAD":
                // The answer has the headers of the content, but no content.
                let headers = headers(entry, isRead: true).map { "\($0.key): \($0.value)\r\n" }.joined()
                return [.send("HTTP/1.1 200 OK\r\nContent-Length: \(entry.bytes?.count ?? 0)\r\n\(headers)\r\n")]
            default:
                guard let bytes = entry.bytes else { return .answer(403) }
                return .answer(200, headers(entry, isRead: true), String(decoding: bytes, as: UTF8.self))
            }
        }
    }

    private static func date(_ seconds: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "Sun, 06 Nov 1994 \(two(8 + seconds / 3600)):\(two(seconds / 60 % 60)):\(two(seconds % 60)) GMT"
    }

    private func headers(_ entry: Entry, isRead: Bool) -> [String: String] {
        var headers: [String: String] = [:]
        if facts.contains(.eTag) { headers["ETag"] = "\"v\(entry.version)\"" }
        if facts.contains(.time), isRead { headers["Last-Modified"] = Self.date(entry.time) }
        return headers
    }

    private func response(_ path: String, _ entry: Entry) -> String {
        var properties = "<D:resourcetype><D:collection/></D:resourcetype>"
        if let bytes = entry.bytes {
            properties = "<D:resourcetype/><D:getcontentlength>\(bytes.count)</D:getcontentlength>"
            if facts.contains(.eTag) { properties += "<D:getetag>\"v\(entry.version)\"</D:getetag>" }
            if facts.contains(.time) {
                properties += "<D:getlastmodified>\(Self.date(entry.time))</D:getlastmodified>"
            }
        }
        let href = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
        return """
            <D:response><D:href>\(href)</D:href><D:propstat><D:prop>\(properties)</D:prop>\
            <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>
            """
    }
}

extension [ScriptedServer.Step] {
    fileprivate static func answer(_ status: Int, _ headers: [String: String] = [:], _ body: String = "") -> Self {
        ScriptedServer.Step.answer(status, headers, body)
    }
}

extension ScriptedServer {
    /// A remote at the root of this server. It probes the server unless `capabilities` are given.
    func remote(capabilities: RemoteCapabilities? = nil) throws -> WebDAVRemote {
        try WebDAVRemote(Loopback.url(port), capabilities: capabilities)
    }
}
