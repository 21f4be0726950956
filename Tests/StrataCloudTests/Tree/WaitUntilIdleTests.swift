import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

@testable import StrataCloud

/// A program that waits for an account continues when the account is idle, or waits for an external event.
@Suite struct WaitUntilIdleTests {
    private func harness(
        _ options: CloudOptions = CloudOptions(),
        isSuspended: Bool = false,
        fault: @escaping @Sendable (StrictRemote.Request, Int) -> StrictRemote.Fault? = { _, _ in nil }
    ) async throws -> (CloudHarness, DownloadTests.Scratch) {
        let scratch = DownloadTests.Scratch()
        var options = options
        options.cacheFolder = scratch.folder
        let harness = try await CloudHarness(StrictRemote(fault: fault), options: options, isSuspended: isSuspended)
        return (harness, scratch)
    }

    private func stalled(_ harness: CloudHarness) async throws -> CloudError {
        let error = try await #require(throws: CloudError.self) { try await harness.account.waitUntilIdle() }
        #expect(error.code == .stalled)
        return error
    }

    @Test("All uploads have arrived")
    func uploads() async throws {
        let (harness, scratch) = try await harness()
        try await harness.account.waitUntilIdle()
        for number in 0..<20 {
            try await harness.commit { _ = try $0.createNode(at: TreePath(["f", "\(number)"])) }
        }
        try await harness.account.waitUntilIdle()
        #expect(harness.remote.tree.count == 22)
        #expect(try await harness.queued().isEmpty)
        await harness.account.close()
        _ = scratch
    }

    @Test("Automatic pulls and the downloads that follow have ended")
    func automaticPulls() async throws {
        let scratch = DownloadTests.Scratch()
        let remote = StrictRemote()
        remote.folder("home")
        for number in 0..<5 { remote.write("home/\(number)", "text") }
        let harness = try await CloudHarness(
            remote,
            options: CloudOptions(pull: .every(.seconds(3600)), download: .all, cacheFolder: scratch.folder),
            isSuspended: false
        )
        try await harness.account.waitUntilIdle()
        #expect(harness.handler.state.withLock { $0.downloaded.count } == 5)
        await harness.account.close()
    }

    @Test("The wait includes the pause before the next attempt")
    func pauseBeforeRetry() async throws {
        let clock = VirtualClock()
        let isFirst = Once()
        let (harness, scratch) = try await harness(CloudOptions(clock: clock)) { request, _ in
            guard request.verb == "PUT", isFirst() else { return nil }
            return .before(RemoteError(.throttled, "Later.", retryAfter: .seconds(90)))
        }
        let account = harness.account
        try await harness.commit { _ = try $0.createNode(at: "/a") }
        let waiting = Task { try await account.waitUntilIdle() }
        while account.outage == nil { try await Task.sleep(for: .milliseconds(1)) }
        #expect(harness.remote.tree["home/a"] == nil)
        let ticking = Task {
            while !Task.isCancelled {
                clock.advance(by: .seconds(10))
                try await Task.sleep(for: .milliseconds(5))
            }
        }
        try await waiting.value
        ticking.cancel()
        #expect(harness.remote.tree["home/a"] != nil)
        await account.close()
        _ = scratch
    }

    @Test("Failed operations are named, and everything else is done")
    func failures() async throws {
        let (harness, scratch) = try await harness { request, _ in
            request.key == "home/bad" ? .before(RemoteError(.unsupported, "Not that.")) : nil
        }
        let bad = try await harness.commit { cloud in
            try cloud.createNode(at: "/bad/file")
            try cloud.createNode(at: "/good")
            return try cloud.node(at: "/bad").id.rawValue
        }
        let error = try await stalled(harness)
        #expect(error.nodes == [bad])
        #expect(error.message.contains("/bad") && error.message.contains("Not that."))
        #expect(harness.remote.tree["home/good"] != nil)
        await harness.account.close()
        _ = scratch
    }

    @Test("A conflict waits for a decision")
    func conflictWaits() async throws {
        let (harness, scratch) = try await harness()
        let node = try await harness.commit { try $0.createNode(at: "/a").id }
        try await harness.account.waitUntilIdle()
        harness.remote.write("home/a", "of others")
        try await harness.commit { _ = try $0.upload($0.node(at: "/a")) }
        let error = try await stalled(harness)
        #expect(error.nodes == [node.rawValue] && error.message.contains("conflict"))
        try await harness.commit { cloud in
            for conflict in try cloud.conflicts() { try cloud.resolve(conflict, .mine) }
        }
        try await harness.account.waitUntilIdle()
        await harness.account.close()
        _ = scratch
    }

    @Test("An unreachable remote, refused credentials and suspension are external reasons")
    func externalReasons() async throws {
        for (code, word) in [(RemoteError.Code.unreachable, "network"), (.unauthorized, "credentials")] {
            let (harness, scratch) = try await harness { request, _ in
                request.verb == "PUT" ? .before(RemoteError(code, "No.")) : nil
            }
            let node = try await harness.commit { try $0.createNode(at: "/a").id }
            let error = try await stalled(harness)
            #expect(error.message.contains(word) && error.nodes == [node.rawValue])
            await harness.account.close()
            _ = scratch
        }
        let (harness, scratch) = try await harness(isSuspended: true)
        try await harness.commit { _ = try $0.createNode(at: "/a") }
        #expect(try await stalled(harness).message.contains("suspended"))
        harness.account.uploads.resume()
        try await harness.account.waitUntilIdle()
        await harness.account.close()
        _ = scratch
    }

    @Test("An operator's pause of the uploads is an external reason, and the error names the operator")
    func pausedByOperator() async throws {
        let (harness, scratch) = try await harness()
        let name = harness.account.uploads.name
        try await harness.stack.updatePipelineSettings(of: name, by: "ada") { $0.isPaused = true }
        try await harness.commit { _ = try $0.createNode(at: "/a") }
        #expect(try await stalled(harness).message.contains("'ada' has paused the uploads"))
        try await harness.stack.resetPipelineSettings(of: name, by: "ada")
        try await harness.account.waitUntilIdle()
        await harness.account.close()
        _ = scratch
    }

    private struct Step: OperationPayload { var name = "" }

    @Test("The application's holds, operations of other pipelines and failing downloads are external reasons")
    func foreignReasons()
        async throws
    {
        let (harness, scratch) = try await harness(CloudOptions(download: .all)) { request, _ in
            request.verb.hasPrefix("GET") ? .before(RemoteError(.forbidden, "No.")) : nil
        }
        try await harness.commit { cloud in
            for operation in try cloud.operations(for: cloud.createNode(at: "/a")) {
                try operation.hold("release", until: .distantFuture)
            }
        }
        #expect(try await stalled(harness).message.contains("'release'"))
        try await harness.commit { cloud in
            for operation in try cloud.operations(for: cloud.node(at: "/a")) {
                try operation.addDependencies([cloud.context.enqueue(Step(), in: "steps")])
                try operation.release("release")
            }
        }
        #expect(try await stalled(harness).message.contains("another pipeline"))
        try await harness.commit { cloud in
            for operation in try cloud.operations(for: cloud.node(at: "/a")) {
                try operation.removeDependencies(operation.dependencies())
            }
        }
        try await harness.account.waitUntilIdle()
        try await harness.commit { try $0.markNeedsDownload($0.node(at: "/a"), .data) }
        #expect(try await stalled(harness).message.contains("/a"))
        await harness.account.close()
        _ = scratch
    }

    @Test("A failing automatic pull is an external reason, and a failing requested pull is not")
    func failingPulls() async throws {
        for policy in [PullPolicy.every(.seconds(3600)), .manual] {
            let (harness, scratch) = try await harness(CloudOptions(pull: policy)) { request, _ in
                request.verb == "LIST" || request.verb == "HEAD" ? .before(RemoteError(.forbidden, "No.")) : nil
            }
            if policy.interval != nil {
                #expect(try await stalled(harness).message.contains("pull"))
            } else {
                await #expect(throws: (any Error).self) { try await harness.account.pull() }
                try await harness.account.waitUntilIdle()
            }
            await harness.account.close()
            _ = scratch
        }
    }

    @Test("A cancelled task stops waiting, and a closed account ends the wait with an error")
    func cancelledWait() async throws {
        let isOpen = Gate()
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let (harness, scratch) = try await harness { request, _ in
            guard request.verb == "PUT" else { return nil }
            hasBegun.yield()
            return .gate(isOpen)
        }
        let account = harness.account
        try await harness.commit { _ = try $0.createNode(at: "/a") }
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

    @Test("After-commit bodies have ended, and one of them may wait itself")
    func afterCommitBodies() async throws {
        let (harness, scratch) = try await harness()
        let (waited, hasWaited) = AsyncStream.makeStream(of: Void.self)
        try await harness.commit { cloud in
            try cloud.afterCommit { account in
                try await account.commit { _ = try $0.createNode(at: "/of the body") }
                try await account.waitUntilIdle()
                hasWaited.finish()
            }
        }
        try await harness.account.waitUntilIdle()
        for await _ in waited {}
        #expect(harness.remote.tree["home/of the body"] != nil)
        await harness.account.close()
        _ = scratch
    }
}
