import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

@Suite struct MoveTests {
    static let abilities = [
        RemoteCapabilities(isLocal: true), RemoteCapabilities(hasFolders: false, moves: false, isLocal: true),
    ]

    @Test(arguments: abilities)
    func `a folder is not moved into what still lies in it at the remote`(_ abilities: RemoteCapabilities) async throws
    {
        let stage = try await CloudStage(
            StrictRemote(abilities),
            options: CloudOptions(retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)))
        )
        let (outer, inner) = try await stage.commit { cloud in
            (try cloud.createFolder(at: "/outer").id, try cloud.createFolder(at: "/outer/inner").id)
        }
        try await stage.drain()
        try await stage.commit { cloud in try cloud.move(cloud.node(at: "/outer/inner"), to: "/inner") }
        try await stage.commit { cloud in
            for operation in try cloud.context.fetch(QueuedOperation.all) { operation.skip() }
            try cloud.move(cloud.node(at: "/outer"), to: "/inner/outer")
        }
        try await stage.drain()
        #expect(stage.remote.tree.keys.sorted() == ["home/", "home/outer/", "home/outer/inner/"])
        try await stage.commit { cloud in
            let failed = try cloud.failedOperations()
            #expect(try failed.map { try cloud.node(for: $0)?.id } == [outer])
            #expect(failed.first?.failures.list.last?.message.contains("lies below it") == true)
            // As the error says.
            failed.first?.skip()
            try cloud.rename(#require(try cloud.context.find(inner)), to: "moved")
            try cloud.rename(#require(try cloud.context.find(outer)), to: "again")
        }
        try await stage.drain()
        #expect(stage.remote.tree.keys.sorted() == ["home/", "home/moved/", "home/moved/again/"])
        #expect(try await stage.queued() == [])
        await stage.account.close()
    }

    @Test(arguments: [true, false])
    func `what was sent without an answer and moved twice is still known for what it is`(_ keepsMarks: Bool)
        async throws
    {
        let faults = Mutex(["PUT home/n", "HEAD home/o"])
        let remote = StrictRemote(
            RemoteCapabilities(hasFolders: false, moves: false, keepsMarks: keepsMarks, isLocal: true)
        ) {
            request,
            _ in
            let place = faults.withLock { $0.firstIndex(of: "\(request)").map { $0 } }
            guard let place else { return nil }
            faults.withLock { _ = $0.remove(at: place) }
            return request.verb == "PUT" ? .answerLost : .before(RemoteError(.unavailable, "Not now."))
        }
        let stage = try await CloudStage(
            remote,
            options: CloudOptions(retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)))
        )
        try await stage.commit { _ = try $0.createNode(at: "/n") }
        stage.account.push.resume()
        while faults.withLock({ $0.count }) > 1 { await Task.yield() }
        stage.account.push.suspend()
        try await stage.commit { cloud in
            for operation in try cloud.context.fetch(QueuedOperation.all) { operation.skip() }
            try cloud.move(cloud.node(at: "/n"), to: "/m")
        }
        try await stage.commit { try $0.move($0.node(at: "/m"), to: "/o") }
        try await stage.drain()
        #expect(remote.tree.keys.sorted() == ["home/", "home/o"])
        #expect(faults.withLock { $0.isEmpty })
        try await stage.commit { try $0.delete($0.node(at: "/o")) }
        try await stage.drain()
        #expect(remote.tree.keys.sorted() == ["home/"])
        #expect(try await stage.queued() == [])
        await stage.account.close()
    }

    @Test(arguments: abilities)
    func `what was to pass through a folder that is gone leaves the one that it lies in before that is deleted`(
        _ abilities: RemoteCapabilities
    ) async throws {
        let remote = StrictRemote(abilities) { request, _ in
            request.key.split(separator: "/").contains("bad") ? .before(RemoteError(.invalidKey, "No such name.")) : nil
        }
        let stage = try await CloudStage(remote)
        try await stage.commit { cloud in
            _ = try cloud.createNode(at: "/a/x")
            try cloud.createFolder(at: "/b")
        }
        try await stage.drain()
        try await stage.commit { try $0.move($0.node(at: "/b"), to: "/bad") }
        try await stage.commit { try $0.move($0.node(at: "/a/x"), to: "/bad/x") }
        try await stage.commit { cloud in
            try cloud.move(cloud.node(at: "/bad/x"), to: "/y")
            try cloud.delete(cloud.node(at: "/bad"))
            try cloud.delete(cloud.node(at: "/a"))
            // Its place is free when it is made.
            try cloud.createFolder(at: "/a")
        }
        try await stage.drain()
        #expect(remote.tree.keys.sorted() == ["home/", "home/a/", "home/y"])
        #expect(try await stage.queued() == [])
        #expect(try await stage.tree().keys.sorted() == ["home/a/", "home/y"])
        let known = try await stage.read {
            try $0.context.fetch(RemoteNode.all).filter { $0.parent != nil }.map { "\($0.key)" }
        }
        #expect(known.sorted() == ["home/a", "home/y"])
        await stage.account.close()
    }
}
