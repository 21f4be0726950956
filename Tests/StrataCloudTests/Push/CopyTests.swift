import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

@Suite("Copies that pass through this machine") struct CopyTests {
    /// Provides the texts of notes.
    private struct NoteHandler: CloudHandler {
        let stack: ContextStack

        func content(for request: ContentRequest) async throws -> RemoteBody? {
            guard let id = request.object(as: Note.self) else { return nil }
            return try await stack.background { try $0.find(id)?.text }.map { RemoteBody(Data($0.utf8)) }
        }
    }

    @Test(
        "A copy has the content that was not uploaded before its source was deleted",
        arguments: [true, false],
        [true, false]
    )
    func unsentContent(
        _ isFolder: Bool,
        isCopyOfCopy: Bool
    ) async throws {
        let stack = try await ContextStack.open(.inMemory, models: [Note.self] + CloudAccount.models, stack: .rootOnly)
        let remote = StrictRemote()
        var options = CloudOptions()
        options.isSuspended = true
        let account = try await CloudAccount.open(
            stack,
            id: "alice",
            remote: remote,
            handler: NoteHandler(stack: stack),
            options: options
        )
        let id = try await account.commit { cloud in
            let note = cloud.context.insert(Note(text: "first"))
            try cloud.createNode(at: "/a", content: note.id)
            if isFolder { try cloud.createFolder(at: "/a/inner") }
            return note.id
        }
        account.uploads.resume()
        try await account.waitUntilIdle()
        account.uploads.suspend()
        try await account.commit { cloud in
            let note = try #require(try cloud.context.find(id))
            note.text = "second"
            try cloud.upload(cloud.node(at: "/a"))
            try cloud.copy(cloud.node(at: "/a"), to: isCopyOfCopy ? "/b" : "/c")
            if isCopyOfCopy { try cloud.copy(cloud.node(at: "/b"), to: "/c") }
            try cloud.delete(cloud.node(at: "/a"))
            if isCopyOfCopy { try cloud.delete(cloud.node(at: "/b")) }
        }
        account.uploads.resume()
        try await account.waitUntilIdle()
        #expect(remote.tree[isFolder ? "home/c%payload" : "home/c"] == "second")
        #expect(remote.tree.keys.filter { !$0.hasPrefix("home/c") } == ["home/"])
        await account.close()
        try await stack.close()
    }

    @Test(
        "A copy ends if its content was uploaded before, because others have deleted its folder",
        arguments: [true, false]
    )
    func uploadedBefore(_ copies: Bool) async throws {
        let remote = StrictRemote(RemoteCapabilities(copies: copies, isLocal: true))
        let harness = try await CloudHarness(
            remote,
            options: CloudOptions(retry: RetryPolicy(maxAttempts: 2, base: .milliseconds(1), cap: .milliseconds(2)))
        )
        try await harness.commit { _ = try $0.createNode(at: "/c") }
        try await harness.drain()
        remote.write("home/c", nil)
        try await harness.commit { cloud in
            try harness.handler.set("original", of: cloud.createNode(at: "/b").id)
            let copy = try cloud.copy(cloud.node(at: "/b"), to: "/c/b")
            harness.handler.set("copy", of: copy.id)
            try cloud.copy(copy, to: "/d")
        }
        try await harness.drain()
        #expect(try await harness.queued() == [])
        #expect(remote.tree["home/b"] == "original")
        #expect(remote.tree["home/c/b"] == "copy")
        #expect(remote.tree["home/d"] == "copy")
        try await harness.stack.close()
    }

    @Test("An edit of the source by others is recognized after a lost answer")
    func editOfSource() async throws {
        let isFirst = Mutex(true)
        let remote = StrictRemote(RemoteCapabilities(copies: false, moves: false, isLocal: true)) { request, _ in
            guard request.verb == "DELETE", request.key == "home/b" else { return nil }
            return isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst ? .answerLost : nil
            }
        }
        let harness = try await CloudHarness(
            remote,
            options: CloudOptions(retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)))
        )
        try await harness.commit { _ = try $0.createNode(at: "/a") }
        try await harness.drain()
        // The new content has the same size as the old one, and another version.
        remote.write("home/a", "theirs of /a.")
        try await harness.commit { cloud in
            let copy = try cloud.copy(cloud.node(at: "/a"), to: "/b")
            try cloud.move(copy, to: "/c")
        }
        try await harness.drain()
        #expect(remote.tree == ["home/": "", "home/a": "theirs of /a.", "home/c": "theirs of /a."])
        #expect(try await harness.queued() == [])
        await harness.account.close()
    }

    @Test("Content of an interrupted and skipped upload is copied without a refusal", arguments: [true, false])
    func skippedUpload(
        hasArrived: Bool
    ) async throws {
        let remote = StrictRemote(RemoteCapabilities(copies: true, moves: false, isLocal: true)) { request, count in
            guard request.verb == "PUT", request.key == "home/a", count > 2 else { return nil }
            return hasArrived ? .answerLost : .before(RemoteError(.unavailable, "Not now."))
        }
        let harness = try await CloudHarness(
            remote,
            options: CloudOptions(retry: RetryPolicy(base: .seconds(3600), cap: .seconds(3600)))
        )
        let node = try await harness.commit { try $0.createNode(at: "/a").id }
        harness.handler.set("first", of: node)
        try await harness.drain()
        harness.handler.set("second", of: node)
        try await harness.commit { cloud in _ = try cloud.upload(cloud.node(at: "/a")) }
        harness.account.uploads.resume()
        while try await harness.read({ try $0.operations(for: $0.node(at: "/a")).first?.failures.list.isEmpty ?? true })
        {
            try await Task.sleep(for: .milliseconds(1))
        }
        harness.account.uploads.suspend()
        try await harness.commit { cloud in _ = try cloud.copy(cloud.node(at: "/a"), to: "/b") }
        try await harness.commit { cloud in try cloud.delete(cloud.node(at: "/a")) }
        try await harness.drain()
        #expect(remote.refusals == [])
        #expect(remote.tree == ["home/": "", "home/b": hasArrived ? "second" : "first"])
        #expect(try await harness.queued() == [])
        await harness.account.close()
    }
}
