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

    @Test(arguments: [true, false], [true, false])
    func `a copy has content that was not sent before its source was deleted`(
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
        account.push.resume()
        try await account.waitUntilIdle()
        account.push.suspend()
        try await account.commit { cloud in
            let note = try #require(try cloud.context.find(id))
            note.text = "second"
            try cloud.upload(cloud.node(at: "/a"))
            try cloud.copy(cloud.node(at: "/a"), to: isCopyOfCopy ? "/b" : "/c")
            if isCopyOfCopy { try cloud.copy(cloud.node(at: "/b"), to: "/c") }
            try cloud.delete(cloud.node(at: "/a"))
            if isCopyOfCopy { try cloud.delete(cloud.node(at: "/b")) }
        }
        account.push.resume()
        try await account.waitUntilIdle()
        #expect(remote.tree[isFolder ? "home/c%payload" : "home/c"] == "second")
        #expect(remote.tree.keys.filter { !$0.hasPrefix("home/c") } == ["home/"])
        await account.close()
        try await stack.close()
    }

    @Test func `what others have written into the source is recognised behind a lost answer`() async throws {
        let isFirst = Mutex(true)
        let remote = StrictRemote(RemoteCapabilities(copies: false, moves: false, isLocal: true)) { request, _ in
            guard request.verb == "DELETE", request.key == "home/b" else { return nil }
            return isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst ? .answerLost : nil
            }
        }
        let stage = try await CloudStage(
            remote,
            options: CloudOptions(retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)))
        )
        try await stage.commit { _ = try $0.createNode(at: "/a") }
        try await stage.drain()
        // The new content has the same size as the old one, and another version.
        remote.write("home/a", "theirs of /a.")
        try await stage.commit { cloud in
            let copy = try cloud.copy(cloud.node(at: "/a"), to: "/b")
            try cloud.move(copy, to: "/c")
        }
        try await stage.drain()
        #expect(remote.tree == ["home/": "", "home/a": "theirs of /a.", "home/c": "theirs of /a."])
        #expect(try await stage.queued() == [])
        await stage.account.close()
    }

    @Test(arguments: [true, false])
    func `what an upload has brought that was broken off and left out is copied without a refusal`(
        hasArrived: Bool
    ) async throws {
        let remote = StrictRemote(RemoteCapabilities(copies: true, moves: false, isLocal: true)) { request, count in
            guard request.verb == "PUT", request.key == "home/a", count > 2 else { return nil }
            return hasArrived ? .answerLost : .before(RemoteError(.unavailable, "Not now."))
        }
        let stage = try await CloudStage(
            remote,
            options: CloudOptions(retry: RetryPolicy(base: .seconds(3600), cap: .seconds(3600)))
        )
        let node = try await stage.commit { try $0.createNode(at: "/a").id }
        stage.handler.set("first", of: node)
        try await stage.drain()
        stage.handler.set("second", of: node)
        try await stage.commit { cloud in _ = try cloud.upload(cloud.node(at: "/a")) }
        stage.account.push.resume()
        while try await stage.read({ try $0.operations(for: $0.node(at: "/a")).first?.failures.list.isEmpty ?? true }) {
            try await Task.sleep(for: .milliseconds(1))
        }
        stage.account.push.suspend()
        try await stage.commit { cloud in _ = try cloud.copy(cloud.node(at: "/a"), to: "/b") }
        try await stage.commit { cloud in try cloud.delete(cloud.node(at: "/a")) }
        try await stage.drain()
        #expect(remote.refusals == [])
        #expect(remote.tree == ["home/": "", "home/b": hasArrived ? "second" : "first"])
        #expect(try await stage.queued() == [])
        await stage.account.close()
    }
}
