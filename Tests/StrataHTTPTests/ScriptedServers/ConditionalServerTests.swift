import Foundation
import StrataCloud
import StrataHTTP
import Synchronization
import Testing

/// Servers that interpret conditions in their own way.
@Suite(.timeLimit(.minutes(1))) struct ConditionalServerTests {
    /// Stores objects, and compares `If-Match` with their versions in the way that a test chooses.
    private final class Store: Sendable {
        private let versions = Mutex<[String: Int]>([:])
        private let matches: @Sendable (_ header: String, _ version: String) -> Bool
        private let checksAbsence: Bool

        init(checksAbsence: Bool, matches: @escaping @Sendable (String, String) -> Bool) {
            self.matches = matches
            self.checksAbsence = checksAbsence
        }

        func reply(_ request: ScriptedServer.Request) -> [ScriptedServer.Step] {
            versions.withLock { versions in
                let version = versions[request.uri]
                let isRefused =
                    checksAbsence && request.headers["if-none-match"] != nil && version != nil
                    || request.headers["if-match"].map { !matches($0, version.map { "v\($0)" } ?? "") } ?? false
                switch request.method {
                case "PUT":
                    if isRefused { return ScriptedServer.Step.answer(412) }
                    versions[request.uri] = (version ?? 0) + 1
                    return ScriptedServer.Step.answer(200, ["ETag": "\"v\((version ?? 0) + 1)\""])
                case "DELETE":
                    versions[request.uri] = nil
                    return ScriptedServer.Step.answer(204)
                default:
                    guard let version else { return ScriptedServer.Step.answer(404) }
                    return ScriptedServer.Step.answer(200, ["ETag": "\"v\(version)\""])
                }
            }
        }

        var isEmpty: Bool { versions.withLock { $0.isEmpty } }
    }

    @Test("A server that refuses conditions of deletes does not count as checking them")
    func noDeleteConditions() async throws {
        let store = Store(checksAbsence: true) { $0 == "\"\($1)\"" }
        let server = try await ScriptedServer { request in
            request.method == "DELETE" && request.headers["if-match"] != nil
                ? ScriptedServer.Step.error(501, "NotImplemented") : store.reply(request)
        }
        let remote = try ScriptedRemote.s3(server.port, capabilities: nil)
        let capabilities = try await remote.capabilities()
        #expect(capabilities.checksVersions && !capabilities.checksVersionsOfDeletes)
        let key = RemoteKey(["a"])
        let tag = try #require(try await remote.put("x", at: key, if: .isAbsent).eTag)
        #expect(try await remote.delete(key, isFolder: false, if: .matches(tag)))
        #expect(store.isEmpty)
    }

    @Test("Versions are sent without quotes to servers that require this")
    func unquotedVersions() async throws {
        let store = Store(checksAbsence: true) { $0 == $1 }
        let server = try await ScriptedServer { store.reply($0) }
        let remote = try ScriptedRemote.s3(server.port, capabilities: nil)
        let capabilities = try await remote.capabilities()
        #expect(capabilities.checksAbsence && capabilities.checksVersions && !capabilities.checksVersionsOfDeletes)
        #expect(store.isEmpty)
        let key = RemoteKey(["a"])
        let tag = try #require(try await remote.put("x", at: key, if: .isAbsent).eTag)
        try await remote.put("y", at: key, if: .matches(tag))
        #expect(server.requests.last?.headers["if-match"] == "v1")
        await expect(.conditionFailed) { try await remote.put("z", at: key, if: .matches(tag)) }
        await expect(.conditionFailed) { try await remote.delete(key, isFolder: false, if: .matches(tag)) }
        // The remote has probed the server only once.
        #expect(server.requests.filter { $0.uri.contains("probe") && $0.method == "DELETE" }.count == 2)
    }

    @Test("Conditions that a server ignores are checked beforehand")
    func ignoredConditions() async throws {
        let store = Store(checksAbsence: false) { _, _ in true }
        let server = try await ScriptedServer { store.reply($0) }
        let remote = try ScriptedRemote.s3(server.port, capabilities: nil)
        let capabilities = try await remote.capabilities()
        #expect(!capabilities.checksAbsence && !capabilities.checksVersions && !capabilities.checksVersionsOfDeletes)
        let key = RemoteKey(["a"])
        let tag = try #require(try await remote.put("x", at: key, if: .isAbsent).eTag)
        await expect(.conditionFailed) { try await remote.put("y", at: key, if: .isAbsent) }
        try await remote.put("y", at: key, if: .matches(tag))
        await expect(.conditionFailed) { try await remote.put("z", at: key, if: .matches(tag)) }
    }

    @Test("A server is probed once for all callers, and again if it could not answer")
    func probedOnce() async throws {
        let store = Store(checksAbsence: true) { $0 == "\"\($1)\"" }
        let isDown = Atomic(true)
        let server = try await ScriptedServer { request in
            isDown.load(ordering: .relaxed) ? ScriptedServer.Step.answer(500) : store.reply(request)
        }
        let remote = try ScriptedRemote.s3(server.port, capabilities: nil)
        await expect(.unavailable) { try await remote.capabilities() }
        isDown.store(false, ordering: .relaxed)
        let before = server.requests.count
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { #expect((try? await remote.capabilities())?.checksVersions == true) } }
        }
        #expect(server.requests.count - before < 10)
    }
}
