import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

@testable import StrataCloud

/// A program that waits for an account continues when the account is idle, or waits for an external event.
@Suite struct IdleTests {
    private func stage(
        _ options: CloudOptions = CloudOptions(),
        isSuspended: Bool = false,
        fault: @escaping @Sendable (StrictRemote.Request, Int) -> StrictRemote.Fault? = { _, _ in nil }
    ) async throws -> (CloudStage, DownloadTests.Scratch) {
        let scratch = DownloadTests.Scratch()
        var options = options
        options.cacheFolder = scratch.folder
        let stage = try await CloudStage(StrictRemote(fault: fault), options: options, isSuspended: isSuspended)
        return (stage, scratch)
    }

    private func stalled(_ stage: CloudStage) async throws -> CloudError {
        let error = try await #require(throws: CloudError.self) { try await stage.account.waitUntilIdle() }
        #expect(error.code == .stalled)
        return error
    }

    @Test func `uploads have arrived`() async throws {
        let (stage, scratch) = try await stage()
        try await stage.account.waitUntilIdle()
        for number in 0..<20 {
            try await stage.commit { _ = try $0.createNode(at: TreePath(["f", "\(number)"])) }
        }
        try await stage.account.waitUntilIdle()
        #expect(stage.remote.tree.count == 22)
        #expect(try await stage.queued().isEmpty)
        await stage.account.close()
        _ = scratch
    }

    @Test func `pulls that begin by themselves, and downloads that follow from them, have ended`() async throws {
        let scratch = DownloadTests.Scratch()
        let remote = StrictRemote()
        remote.folder("home")
        for number in 0..<5 { remote.write("home/\(number)", "text") }
        let stage = try await CloudStage(
            remote,
            options: CloudOptions(pull: .every(.seconds(3600)), download: .all, cacheFolder: scratch.folder),
            isSuspended: false
        )
        try await stage.account.waitUntilIdle()
        #expect(stage.handler.state.withLock { $0.downloaded.count } == 5)
        await stage.account.close()
    }

    @Test func `the pause before the next attempt is waited for`() async throws {
        let clock = VirtualClock()
        let isFirst = Once()
        let (stage, scratch) = try await stage(CloudOptions(clock: clock)) { request, _ in
            guard request.verb == "PUT", isFirst() else { return nil }
            return .before(RemoteError(.throttled, "Later.", retryAfter: .seconds(90)))
        }
        let account = stage.account
        try await stage.commit { _ = try $0.createNode(at: "/a") }
        let waiting = Task { try await account.waitUntilIdle() }
        while account.outage == nil { try await Task.sleep(for: .milliseconds(1)) }
        #expect(stage.remote.tree["home/a"] == nil)
        let ticking = Task {
            while !Task.isCancelled {
                clock.advance(by: .seconds(10))
                try await Task.sleep(for: .milliseconds(5))
            }
        }
        try await waiting.value
        ticking.cancel()
        #expect(stage.remote.tree["home/a"] != nil)
        await account.close()
        _ = scratch
    }

    @Test func `what has failed is named, and everything else is done`() async throws {
        let (stage, scratch) = try await stage { request, _ in
            request.key == "home/bad" ? .before(RemoteError(.unsupported, "Not that.")) : nil
        }
        let bad = try await stage.commit { cloud in
            try cloud.createNode(at: "/bad/file")
            try cloud.createNode(at: "/good")
            return try cloud.node(at: "/bad").id.number
        }
        let error = try await stalled(stage)
        #expect(error.nodes == [bad])
        #expect(error.message.contains("/bad") && error.message.contains("Not that."))
        #expect(stage.remote.tree["home/good"] != nil)
        await stage.account.close()
        _ = scratch
    }

    @Test func `a conflict waits for a decision`() async throws {
        let (stage, scratch) = try await stage()
        let node = try await stage.commit { try $0.createNode(at: "/a").id }
        try await stage.account.waitUntilIdle()
        stage.remote.write("home/a", "of others")
        try await stage.commit { _ = try $0.upload($0.node(at: "/a")) }
        let error = try await stalled(stage)
        #expect(error.nodes == [node.number] && error.message.contains("conflict"))
        try await stage.commit { cloud in
            for conflict in try cloud.conflicts() { try cloud.resolve(conflict, .mine) }
        }
        try await stage.account.waitUntilIdle()
        await stage.account.close()
        _ = scratch
    }

    @Test func `a remote that cannot be reached, credentials that it refuses, and suspension are outside`() async throws
    {
        for (code, word) in [(RemoteError.Code.unreachable, "network"), (.unauthorized, "credentials")] {
            let (stage, scratch) = try await stage { request, _ in
                request.verb == "PUT" ? .before(RemoteError(code, "No.")) : nil
            }
            try await stage.commit { _ = try $0.createNode(at: "/a") }
            #expect(try await stalled(stage).message.contains(word))
            await stage.account.close()
            _ = scratch
        }
        let (stage, scratch) = try await stage(isSuspended: true)
        try await stage.commit { _ = try $0.createNode(at: "/a") }
        #expect(try await stalled(stage).message.contains("suspended"))
        stage.account.push.resume()
        try await stage.account.waitUntilIdle()
        await stage.account.close()
        _ = scratch
    }

    private struct Step: OperationPayload { var name = "" }

    @Test func `so are a hold of the application's, an operation of another pipeline, and a download that fails`()
        async throws
    {
        let (stage, scratch) = try await stage(CloudOptions(download: .all)) { request, _ in
            request.verb.hasPrefix("GET") ? .before(RemoteError(.forbidden, "No.")) : nil
        }
        try await stage.commit { cloud in
            for operation in try cloud.operations(for: cloud.createNode(at: "/a")) {
                try operation.hold("release", until: .distantFuture)
            }
        }
        #expect(try await stalled(stage).message.contains("'release'"))
        try await stage.commit { cloud in
            for operation in try cloud.operations(for: cloud.node(at: "/a")) {
                try operation.addDependencies([cloud.context.enqueue(Step(), in: "steps")])
                try operation.release("release")
            }
        }
        #expect(try await stalled(stage).message.contains("another pipeline"))
        try await stage.commit { cloud in
            for operation in try cloud.operations(for: cloud.node(at: "/a")) {
                try operation.removeDependencies(operation.dependencies())
            }
        }
        try await stage.account.waitUntilIdle()
        try await stage.commit { try $0.markNeedsDownload($0.node(at: "/a"), .data) }
        #expect(try await stalled(stage).message.contains("/a"))
        await stage.account.close()
        _ = scratch
    }

    @Test func `a pull that begins by itself and fails is outside, one that was called for is not`() async throws {
        for policy in [PullPolicy.every(.seconds(3600)), .manual] {
            let (stage, scratch) = try await stage(CloudOptions(pull: policy)) { request, _ in
                request.verb == "LIST" || request.verb == "HEAD" ? .before(RemoteError(.forbidden, "No.")) : nil
            }
            if policy.interval != nil {
                #expect(try await stalled(stage).message.contains("pull"))
            } else {
                await #expect(throws: (any Error).self) { try await stage.account.pull() }
                try await stage.account.waitUntilIdle()
            }
            await stage.account.close()
            _ = scratch
        }
    }

    @Test func `a task that is cancelled waits no longer, and a closed account is told`() async throws {
        let isOpen = Gate()
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let (stage, scratch) = try await stage { request, _ in
            guard request.verb == "PUT" else { return nil }
            hasBegun.yield()
            return .gate(isOpen)
        }
        let account = stage.account
        try await stage.commit { _ = try $0.createNode(at: "/a") }
        for await _ in begun { break }
        let cancelled = Task { try await account.waitUntilIdle() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let closed = Task { try await account.waitUntilIdle() }
        await account.close()
        let error = try await #require(throws: CloudError.self) { try await closed.value }
        #expect(error.code == .closed)
        isOpen.open()
        _ = scratch
    }

    @Test func `bodies that run after commits have ended, and one of them may wait itself`() async throws {
        let (stage, scratch) = try await stage()
        let (waited, hasWaited) = AsyncStream.makeStream(of: Void.self)
        try await stage.commit { cloud in
            try cloud.afterCommit { account in
                try await account.commit { _ = try $0.createNode(at: "/of the body") }
                try await account.waitUntilIdle()
                hasWaited.finish()
            }
        }
        try await stage.account.waitUntilIdle()
        for await _ in waited {}
        #expect(stage.remote.tree["home/of the body"] != nil)
        await stage.account.close()
        _ = scratch
    }
}
