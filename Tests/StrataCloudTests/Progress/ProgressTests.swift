import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

@testable import StrataCloud

/// Bytes done, bytes left, throughput and time left are exact. The test moves the clock.
@Suite struct ProgressTests {
    @Test func `what is queued is left, and its size counts where it is said`() async throws {
        let stage = try await CloudStage()
        let nodes = try await stage.commit { cloud in
            [
                try cloud.createNode(at: "/f/a", size: 100).id, try cloud.createNode(at: "/f/b", size: 20).id,
                try cloud.createNode(at: "/c").id, try cloud.node(at: "/f").id,
            ]
        }
        let account = stage.account
        let whole = try await account.progress()
        #expect(whole.uploads.description == "0 of 3 files, 0 of ? bytes")
        #expect(whole.operationsLeft == 4 && !whole.isIdle && whole.uploads.timeLeft == nil)
        #expect(try await account.progress(below: nodes[3]).uploads.description == "0 of 2 files, 0 of 120 bytes")
        #expect(try await account.progress(below: nodes[3]).operationsLeft == 3)
        #expect(try await account.progress(of: nodes[0]).uploads.description == "0 of 1 files, 0 of 100 bytes")
        #expect(try await account.progress(of: nodes[2]).uploads.bytesTotal == nil)
        await account.close()
    }

    @Test func `what was said of a size gives way to what is sent, and several uploads of a node are one`() async throws
    {
        let stage = try await CloudStage()
        let node = try await stage.commit { try $0.createNode(at: "/a", size: 5).id }
        stage.handler.set("0123456789", of: node)
        try await stage.commit { cloud in _ = try cloud.upload(cloud.node(at: "/a"), size: 7) }
        #expect(try await stage.account.progress().uploads.description == "0 of 1 files, 0 of 7 bytes")
        try await stage.drain()
        let progress = try await stage.account.progress()
        #expect(progress.uploads.description == "1 of 1 files, 10 of 10 bytes")
        #expect(progress.isIdle && progress.uploads.fraction == 1 && progress.uploads.timeLeft == .zero)
        await stage.account.close()
    }

    @Test func `an upload whose operation is in the store no more is done, before its end is told of and behind that`()
        async throws
    {
        let stage = try await CloudStage()
        let (node, operation) = try await stage.commit { cloud in
            let node = try cloud.createNode(at: "/a")
            return (node.id, try cloud.operations(for: node)[0].id)
        }
        let book = stage.account.downloads.transfers
        let key = TransferBook.Key(direction: .upload, number: operation.number, section: .data)
        let transfer = book.begin(key, of: node.number, size: 5)
        transfer.pass(all: 5)
        transfer.end()
        #expect(try await stage.account.progress().uploads.description == "0 of 1 files, 5 of 5 bytes")
        try await stage.commit { for operation in try $0.context.fetch(QueuedOperation.all) { operation.skip() } }
        #expect(try await stage.account.progress().uploads.description == "1 of 1 files, 5 of 5 bytes")
        book.note(.finished(operation, .skipped))
        #expect(try await stage.account.progress().uploads.description == "1 of 1 files, 5 of 5 bytes")
        await stage.account.close()
    }

    @Test func `bytes count as they pass, with throughput and time left`() async throws {
        let clock = VirtualClock()
        let feed = Feed(size: 1_000_000)
        let world = try await FeedWorld(feed, clock)
        try await feed.reached(.request)
        clock.advance(by: .seconds(1))
        feed.give(300_000)
        try await feed.reached(.chunk)
        clock.advance(by: .seconds(1))
        let half = try await world.account.progress()
        #expect(half.uploads.description == "0 of 1 files, 300000 of 1000000 bytes")
        #expect(half.uploads.throughput == 150_000 && half.uploads.fraction == 0.3)
        #expect(half.uploads.timeLeft == .seconds(700.0 / 150))
        feed.give(700_000)
        feed.finish()
        try await world.drained()
        let whole = try await world.account.progress()
        #expect(whole.uploads.description == "1 of 1 files, 1000000 of 1000000 bytes")
        #expect(whole.uploads.throughput == 500_000)
        clock.advance(by: .seconds(60))
        #expect(try await world.account.progress().uploads.throughput == 0)
        await world.account.close()
    }

    @Test func `what breaks off does not count, and counts when it is sent again`() async throws {
        let faults = Mutex(1)
        let remote = StrictRemote { request, _ in
            guard request.verb == "PUT",
                faults.withLock({
                    $0 -= 1; return $0 >= 0
                })
            else { return nil }
            return .before(RemoteError(.unauthorized, "Who?"))
        }
        let stage = try await CloudStage(remote)
        let node = try await stage.commit { try $0.createNode(at: "/a").id }
        stage.handler.set("0123456789", of: node)
        try await stage.drain()
        let held = try await stage.account.progress()
        #expect(held.uploads.description == "0 of 1 files, 0 of ? bytes" && held.operationsLeft == 1)
        try await stage.account.credentialsChanged()
        try await stage.drain()
        #expect(try await stage.account.progress().uploads.description == "1 of 1 files, 10 of 10 bytes")
        await stage.account.close()
    }

    @Test func `parts that were sent before count at once`() async throws {
        let isCut = Mutex(true)
        let remote = StrictRemote(RemoteCapabilities(minimumPartSize: 4, isLocal: true)) { request, _ in
            request.verb == "PART 3" && isCut.withLock { $0 } ? .before(RemoteError(.unauthorized, "Who?")) : nil
        }
        let stage = try await CloudStage(
            remote,
            options: CloudOptions(partSize: 5, maxConcurrentParts: 1, clock: VirtualClock())
        )
        let node = try await stage.commit { try $0.createNode(at: "/a").id }
        stage.handler.set("01234567890123456789", of: node)
        try await stage.drain()
        isCut.withLock { $0 = false }
        try await stage.account.credentialsChanged()
        try await stage.drain()
        let progress = try await stage.account.progress()
        #expect(progress.uploads.description == "1 of 1 files, 20 of 20 bytes")
        // The first attempt sends three parts, of which the third fails. The second attempt sends the last two.
        #expect(progress.uploads.throughput == 25)
        await stage.account.close()
    }

    @Test func `marks are left until their downloads have been written down`() async throws {
        let scratch = DownloadTests.Scratch()
        let remote = StrictRemote()
        remote.folder("home")
        remote.write("home/n", "0123456789")
        remote.write("home/m", "0123")
        let stage = try await CloudStage(
            remote,
            options: CloudOptions(download: .byApplication, cacheFolder: scratch.folder)
        )
        try await stage.account.pull()
        #expect(try await stage.account.progress().downloads.description == "0 of 2 files, 0 of 14 bytes")
        let node = try await stage.read { try $0.node(at: "/n").id }
        try await stage.account.downloads.fetch(node).release()
        let arrived = try await stage.account.progress()
        #expect(arrived.downloads.description == "0 of 2 files, 10 of 14 bytes" && !arrived.isIdle)
        try await stage.commit { cloud in try cloud.unmarkNeedsDownload(cloud.node(at: "/n"), .data) }
        #expect(try await stage.account.progress().downloads.description == "1 of 2 files, 10 of 14 bytes")
        #expect(try await stage.account.progress(of: node).downloads.description == "1 of 1 files, 10 of 10 bytes")
        // A download without a mark counts as well.
        try await stage.account.downloads.fetch(node).release()
        #expect(try await stage.account.progress(of: node).downloads.description == "2 of 2 files, 20 of 20 bytes")
        await stage.account.close()
        _ = scratch
    }

    @Test func `whoever follows is told the newest, and a full bar begins anew with the next work`() async throws {
        let clock = VirtualClock()
        let feed = Feed(size: 1_000_000)
        let world = try await FeedWorld(feed, clock)
        var changes = world.account.progressChanges(every: .zero).makeAsyncIterator()
        try await feed.reached(.request)
        #expect(try await changes.next()?.uploads.filesLeft == 1)
        feed.give(600_000)
        try await changes.wait { $0.uploads.bytesDone == 600_000 && $0.uploads.bytesTotal == 1_000_000 }
        feed.give(400_000)
        feed.finish()
        try await changes.wait { $0.isIdle && $0.uploads.description == "1 of 1 files, 1000000 of 1000000 bytes" }
        // The account's progress counts all uploads. The loop's progress counts only the uploads since the bar was
        // full.
        world.account.push.suspend()
        let node = try await world.account.commit { try $0.createNode(at: "/other", size: 7).id }
        try await changes.wait { $0.uploads.description == "0 of 1 files, 0 of 7 bytes" }
        #expect(try await world.account.progress().uploads.description == "1 of 2 files, 1000000 of 1000007 bytes")
        #expect(try await world.account.progress(of: node).uploads.filesLeft == 1)
        await world.account.close()
        #expect(try await changes.next() == nil)
    }

    @Test func `no value comes before its interval is over`() async throws {
        let clock = VirtualClock()
        let stage = try await CloudStage(options: CloudOptions(clock: clock))
        let (told, teller) = AsyncStream.makeStream(of: Int.self)
        let changes = stage.account.progressChanges(every: .seconds(2))
        let task = Task { for try await progress in changes { teller.yield(progress.uploads.filesLeft) } }
        var values = told.makeAsyncIterator()
        #expect(await values.next() == 0)
        for index in 0..<5 {
            try await stage.commit { cloud in _ = try cloud.createNode(at: TreePath(["\(index)"])) }
        }
        await clock.waitForAlarm(after: .seconds(2))
        clock.advance(by: .seconds(2))
        #expect(await values.next() == 5)
        task.cancel()
        await stage.account.close()
    }

    @Test func `a task that is cancelled ends its loop`() async throws {
        let stage = try await CloudStage()
        let changes = stage.account.progressChanges()
        let task = Task {
            var count = 0
            for try await _ in changes { count += 1 }
            return count
        }
        task.cancel()
        #expect(try await task.value <= 1)
        await stage.account.close()
    }

    @Test func `a value looks at what has changed, and at nothing else that is left`() async throws {
        let stage = try await CloudStage()
        let node = try await stage.commit { try $0.createNode(at: "/a", size: 5).id }
        var changes = stage.account.progressChanges(every: .zero).makeAsyncIterator()
        #expect(try await changes.next()?.uploads.description == "0 of 1 files, 0 of 5 bytes")
        // No reading can decode this payload any more, and no one is notified of the change.
        try stage.stack.transact(author: "test") { transaction in
            try transaction.run("UPDATE \"QueuedOperation\" SET \"payload\" = x'00'", [])
        }
        try await stage.commit { _ = try $0.createNode(at: "/b", size: 7) }
        #expect(try await changes.next()?.uploads.description == "0 of 2 files, 0 of 12 bytes")
        await #expect(throws: (any Error).self) { try await stage.account.progress(of: node) }
        await stage.account.close()
    }

    @Test func `downloads whose marks stay are not done, however many they are`() async throws {
        let scratch = DownloadTests.Scratch()
        let remote = StrictRemote()
        remote.folder("home")
        let count = 1100
        for number in 0..<count { remote.write("home/\(number)", "12") }
        let stage = try await CloudStage(
            remote,
            options: CloudOptions(download: .byApplication, cacheFolder: scratch.folder)
        )
        try await stage.account.pull()
        let nodes = try await stage.read { try $0.nodesMarkedForDownload().map(\.id) }
        for node in nodes { try await stage.account.downloads.fetch(node).release() }
        #expect(try await stage.account.progress().downloads.description == "0 of 1100 files, 2200 of 2200 bytes")
        try await stage.commit { cloud in
            for node in try cloud.nodesMarkedForDownload() { try cloud.unmarkNeedsDownload(node) }
        }
        #expect(try await stage.account.progress().downloads.description == "1100 of 1100 files, 2200 of 2200 bytes")
        await stage.account.close()
    }

    @Test func `what is done is counted in all, and of the nodes that came last`() {
        var log = TransferLog()
        for node in Int64(1)...20_000 {
            let source = TransferWindow.Source(direction: .upload, node: node)
            log.add(TransferBook.Done(files: 1, bytes: 3), of: source)
        }
        #expect(log.done(.upload, .account) == [0: TransferBook.Done(files: 20_000, bytes: 60_000)])
        let last = log.done(.upload, .below(1))
        #expect((TransferLog.length...2 * TransferLog.length).contains(last.count))
        #expect(last[20_000 - Int64(TransferLog.length) + 1] == TransferBook.Done(files: 1, bytes: 3))
        #expect(log.done(.download, .account) == [:])
    }
}

extension CloudProgressChanges.Iterator {
    /// Reads values until one satisfies the condition.
    fileprivate mutating func wait(_ isSo: (CloudProgress) -> Bool) async throws {
        while let progress = try await next() { if isSo(progress) { return } }
        Issue.record("The sequence has ended before.")
    }
}
