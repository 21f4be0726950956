import Foundation
import StrataCloud
import StrataHTTP
import Synchronization
import Testing

/// Answers to writes that confirm nothing, or come from an intermediary instead of the server.
@Suite(.timeLimit(.minutes(1))) struct WriteAnswerTests {
    private let key = RemoteKey(["a"])

    /// Answers to writes that the server has not carried out.
    static let lies: [(status: Int, headers: [String: String], body: String)] = [
        (200, ["Content-Type": "text/html; charset=utf-8"], "<html>Please log in.</html>"),
        (200, ["Content-Type": "text/html", "ETag": "\"page\""], "<html>Please log in.</html>"),
        (207, ["Content-Type": "application/xml"], "<multistatus xmlns=\"DAV:\"/>"), (202, [:], ""), (200, [:], ""),
        (201, [:], ""), (204, [:], ""),
    ]

    /// A collection with an intermediary that answers the first `times` requests of a method itself.
    private func lying(
        _ collection: ScriptedCollection,
        _ lie: (status: Int, headers: [String: String], body: String),
        to method: String,
        times: Int = .max
    ) async throws -> ScriptedServer {
        let left = Mutex(times)
        return try await collection.server { request in
            guard request.method == method, !request.uri.contains("probe") else { return nil }
            let isLying = left.withLock { left in
                left -= 1
                return left >= 0
            }
            return isLying ? ScriptedServer.Step.answer(lie.status, lie.headers, lie.body) : nil
        }
    }

    @Test(
        "A write that the server has not stored is not done",
        arguments: lies.indices,
        [[.eTag], [.time]] as [ScriptedCollection.Facts]
    )
    func notStored(index: Int, facts: ScriptedCollection.Facts) async throws {
        let (collection, lie) = (ScriptedCollection(facts), Self.lies[index])
        let server = try await lying(collection, lie, to: "PUT")
        let remote = try server.remote()
        for condition in [RemoteCondition.none, .isAbsent] {
            let error = await failure { try await remote.put("new", at: key, if: condition) }
            #expect(error?.code == .malformedAnswer && error?.status == lie.status && error?.key == key)
            #expect(error?.message.contains("answered with \(lie.status), but") == true, "\(error?.message ?? "")")
        }
        // The old content has the same size as the new one, and then another size.
        for old in ["old", "older"] {
            collection.write("/a", old)
            let known = try #require(try await remote.head(key)?.eTag)
            await expect(.malformedAnswer) { try await remote.put("new", at: key, if: .matches(known)) }
            // Without a condition the earlier content is unknown. Only an unusual answer or another size raises a
            // doubt.
            let isOdd = ![201, 204].contains(lie.status) && !(lie.status == 200 && lie.body.isEmpty)
            if isOdd || old.count != 3 {
                await expect(.malformedAnswer) { try await remote.put("new", at: key) }
            }
        }
    }

    @Test("A write that the server has stored is done, whatever the answer was", arguments: lies.indices)
    func stored(index: Int) async throws {
        let (collection, lie) = (ScriptedCollection(.eTag), Self.lies[index])
        let server = try await collection.server { request in
            guard request.method == "PUT" else { return nil }
            collection.write(request.uri, String(decoding: request.body, as: UTF8.self))
            return ScriptedServer.Step.answer(lie.status, lie.headers, lie.body)
        }
        let remote = try server.remote(capabilities: RemoteCapabilities())
        for condition in [RemoteCondition.isAbsent, .none] {
            let put = try await remote.put("\(condition)", at: key, if: condition)
            #expect(put.eTag == (try await remote.head(key)?.eTag))
        }
        let known = try #require(try await remote.head(key)?.eTag)
        let put = try await remote.put("next", at: key, if: .matches(known))
        #expect(put.eTag != known && put.size == 4)
    }

    @Test("Folders, moves, copies and deletes are checked too", arguments: lies.indices)
    func otherWrites(index: Int) async throws {
        let lie = Self.lies[index]
        // Servers answer such requests with these status codes.
        guard ![201, 204].contains(lie.status) else { return }
        let collection = ScriptedCollection(.eTag)
        collection.write("/a", "text")
        let server = try await collection.server { request in
            guard ["COPY", "MOVE", "MKCOL", "DELETE"].contains(request.method) else { return nil }
            return ScriptedServer.Step.answer(lie.status, lie.headers, lie.body)
        }
        let remote = try server.remote(capabilities: RemoteCapabilities())
        let other = RemoteKey(["b"])
        // A multistatus lists the operations that failed.
        let code = lie.status == 207 ? RemoteError.Code.unavailable : .malformedAnswer
        await expect(code) { try await remote.copy(key, to: other, version: nil) }
        await expect(code) { try await remote.move(key, to: other, isFolder: false) }
        // Some servers answer these requests with 200 and an empty body.
        guard lie.status != 200 || !lie.body.isEmpty else { return }
        await expect(.malformedAnswer) { try await remote.createFolder(other) }
        await expect(code) { try await remote.delete(key, isFolder: false, if: .none) }
    }

    @Test("Writes to S3 are checked too", arguments: lies.indices)
    func s3Writes(index: Int) async throws {
        let lie = Self.lies[index]
        // S3 answers a write with an ETag and without a page.
        let server = try await ScriptedServer { request in
            ["HEAD", "GET"].contains(request.method)
                ? ScriptedServer.Step.answer(404)
                : ScriptedServer.Step.answer(lie.status, lie.headers, lie.body)
        }
        let remote = try ScriptedRemote.s3(server.port)
        await expect(.malformedAnswer) { try await remote.put("new", at: key, if: .isAbsent) }
        await expect(.malformedAnswer) {
            try await remote.uploadPart(RemoteBody(Data("x".utf8)), number: 1, of: "id", at: key)
        }
        await expect(.malformedAnswer) { try await remote.completeUpload("id", parts: ["1"], at: key, if: .none) }
    }

    @Test("An upload that was not stored is sent again, and not deleted locally", arguments: lies.indices)
    func swallowedUpload(index: Int)
        async throws
    {
        let (collection, lie) = (ScriptedCollection(.eTag), Self.lies[index])
        let server = try await lying(collection, lie, to: "PUT", times: 1)
        let machine = try await Machine(server.remote())
        try await machine.write("/n", "precious")
        #expect(collection.text("/home/n") == "precious")
        #expect(try await machine.pull() == [])
        let (waiting, failures) = try await machine.push()
        #expect(waiting.isEmpty && failures.isEmpty)
        try await machine.close()
    }
}
