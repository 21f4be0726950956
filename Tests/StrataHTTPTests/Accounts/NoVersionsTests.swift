import Foundation
import StrataCloud
import StrataHTTP
import Testing

/// Servers without ETags. The account builds a version of last resort from size and time.
@Suite(.timeLimit(.minutes(1))) struct NoVersionsTests {
    /// Two machines that share a collection, and know a file in it.
    private func machines(_ collection: ScriptedCollection) async throws -> (Machine, Machine, ScriptedServer) {
        let server = try await collection.server()
        let (first, second) = (try await Machine(server.remote()), try await Machine(server.remote()))
        try await first.write("/n", "one")
        #expect(try await second.pull() == ["new /n"])
        #expect(try await second.fetch("/n") == "one")
        return (first, second, server)
    }

    @Test("Remote edits arrive, and no file comes back", arguments: ["two", "longer"])
    func remoteEdits(text: String)
        async throws
    {
        let collection = ScriptedCollection(.time)
        let (first, second, server) = try await machines(collection)
        collection.wait(seconds: 1)
        try await first.write("/n", text)
        #expect(try await second.pull() == ["modified /n"])
        #expect(try await second.fetch("/n") == text)
        #expect(try await second.pull() == [])
        #expect(try await first.pull() == [])
        try await second.delete("/n")
        #expect(collection.text("/home/n") == nil)
        #expect(try await first.pull() == ["deleted /n"])
        for machine in [first, second] {
            let (waiting, failures) = try await machine.push()
            #expect(waiting.isEmpty && failures.isEmpty)
            #expect(try await machine.pull() == [])
            try await machine.close()
        }
        #expect(collection.text("/home/n") == nil)
        // The server does not know these versions, so no request uses one as a condition.
        #expect(server.requests.allSatisfy { $0.headers["if-match"]?.contains("strata-time") != true })
    }

    @Test("Two machines that edit the same file have a conflict")
    func conflictingEdits() async throws {
        let collection = ScriptedCollection(.time)
        let (first, second, server) = try await machines(collection)
        collection.wait(seconds: 1)
        try await first.write("/n", "two")
        try await second.write("/n", "2nd")
        #expect(try await second.conflicts() == 1)
        #expect(collection.text("/home/n") == "two")
        for machine in [first, second] { try await machine.close() }
        _ = server
    }

    @Test("A file that others have edited is not deleted")
    func editedNotDeleted() async throws {
        let collection = ScriptedCollection(.time)
        let (first, second, server) = try await machines(collection)
        collection.wait(seconds: 1)
        try await first.write("/n", "two")
        try await second.delete("/n")
        #expect(collection.text("/home/n") == "two")
        #expect(try await second.pull() == ["new /n"])
        for machine in [first, second] { try await machine.close() }
        _ = server
    }

    @Test("A file with the same size and time is not mistaken for a deleted one")
    func sameSizeAndTime() async throws {
        let collection = ScriptedCollection(.time)
        let (first, second, server) = try await machines(collection)
        collection.write("/home/n", nil)
        collection.write("/home/other", "2nd")
        #expect(try await second.pull() == ["deleted /n", "new /other"])
        #expect(try await second.fetch("/other") == "2nd")
        for machine in [first, second] { try await machine.close() }
        _ = server
    }

    @Test("Reads, copies and moves respect the version")
    func otherOperations() async throws {
        let collection = ScriptedCollection(.time)
        let server = try await collection.server()
        let remote = try server.remote()
        let (key, other) = (RemoteKey(["a"]), RemoteKey(["b"]))
        let first = try #require(try await remote.put("one", at: key, if: .isAbsent).eTag)
        #expect(first.isWeak && first.isOfLastResort)
        #expect(try await remote.head(key)?.eTag == first)
        #expect(try await remote.all(.root).map(\.eTag) == [first])
        #expect(try await remote.text(key, if: .matches(first)) == "one")
        collection.wait(seconds: 1)
        let second = try #require(try await remote.put("two", at: key, if: .matches(first)).eTag)
        #expect(second != first)
        await expect(.conditionFailed) { try await remote.put("x", at: key, if: .matches(first)) }
        await expect(.conditionFailed) { try await remote.get(key, range: nil, if: .matches(first)) }
        await expect(.conditionFailed) { try await remote.copy(key, to: other, version: first) }
        await expect(.conditionFailed) { try await remote.delete(key, isFolder: false, if: .matches(first)) }
        #expect(try await remote.copy(key, to: other, version: second).size == 3)
        #expect(try await remote.delete(key, isFolder: false, if: .matches(second)))
    }

    @Test("A server without versions and times is refused")
    func noVersionsNoTimes() async throws {
        let server = try await ScriptedCollection([]).server()
        let error = await failure { try await server.remote().capabilities() }
        #expect(error?.code == .misconfigured)
        #expect(error?.message.contains("ETag") == true && error?.message.contains("Last-Modified") == true)
        let machine = try await Machine(server.remote())
        await expect(.misconfigured) { try await machine.pull() }
        try await machine.close()
    }

    @Test("A server with versions and without times is accepted")
    func versionsWithoutTimes() async throws {
        let collection = ScriptedCollection(.eTag)
        let (first, second, server) = try await machines(collection)
        try await first.write("/n", "two")
        #expect(try await second.pull() == ["modified /n"])
        for machine in [first, second] { try await machine.close() }
        _ = server
    }
}
