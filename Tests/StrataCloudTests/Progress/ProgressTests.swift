import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

@testable import StrataCloud

/// Bytes done, bytes left, throughput and time left are exact. The test moves the clock.
@Suite struct ProgressTests {
    @Test("A queued operation counts as remaining, with its size if the size is known")
    func queuedWork() async throws {
        let harness = try await CloudHarness()
        let nodes = try await harness.commit { cloud in
            [
                try cloud.createNode(at: "/f/a", size: 100).id, try cloud.createNode(at: "/f/b", size: 20).id,
                try cloud.createNode(at: "/c").id, try cloud.node(at: "/f").id,
            ]
        }
        let account = harness.account
        let whole = try await account.progress()
        #expect(whole.uploads.description == "0 of 3 files, 0 of ? bytes")
        #expect(whole.operationsLeft == 4 && !whole.isIdle && whole.uploads.timeLeft == nil)
        #expect(try await account.progress(below: nodes[3]).uploads.description == "0 of 2 files, 0 of 120 bytes")
        #expect(try await account.progress(below: nodes[3]).operationsLeft == 3)
        #expect(try await account.progress(of: nodes[0]).uploads.description == "0 of 1 files, 0 of 100 bytes")
        #expect(try await account.progress(of: nodes[2]).uploads.bytesTotal == nil)
        await account.close()
    }

    @Test("The size of the transfer replaces the stated size, and several uploads of a node count as one")
    func actualSize() async throws {
        let harness = try await CloudHarness()
        let node = try await harness.commit { try $0.createNode(at: "/a", size: 5).id }
        harness.handler.set("0123456789", of: node)
        try await harness.commit { cloud in _ = try cloud.upload(cloud.node(at: "/a"), size: 7) }
        #expect(try await harness.account.progress().uploads.description == "0 of 1 files, 0 of 7 bytes")
        try await harness.drain()
        let progress = try await harness.account.progress()
        #expect(progress.uploads.description == "1 of 1 files, 10 of 10 bytes")
        #expect(progress.isIdle && progress.uploads.fraction == 1 && progress.uploads.timeLeft == .zero)
        await harness.account.close()
    }

    @Test("An upload whose operation was removed counts as done, before and after its end is reported")
    func removedOperation()
        async throws
    {
        let harness = try await CloudHarness()
        let (node, operation) = try await harness.commit { cloud in
            let node = try cloud.createNode(at: "/a")
            return (node.id, try cloud.operations(for: node)[0].id)
        }
        let tracker = harness.account.downloads.transfers
        let key = TransferTracker.Key(direction: .upload, number: operation.rawValue, section: .data)
        let transfer = tracker.begin(key, of: node.rawValue, size: 5)
        transfer.pass(all: 5)
        transfer.end()
        #expect(try await harness.account.progress().uploads.description == "0 of 1 files, 5 of 5 bytes")
        try await harness.commit { for operation in try $0.context.fetch(QueuedOperation.all) { operation.skip() } }
        #expect(try await harness.account.progress().uploads.description == "1 of 1 files, 5 of 5 bytes")
        tracker.handle(.finished(operation, .skipped))
        #expect(try await harness.account.progress().uploads.description == "1 of 1 files, 5 of 5 bytes")
        await harness.account.close()
    }

    @Test("Bytes count as they pass, with throughput and remaining time")
    func bytesAsTheyPass() async throws {
        let clock = VirtualClock()
        let feed = Feed(size: 1_000_000)
        let fixture = try await PiecewiseUploadFixture(feed, clock)
        try await feed.reached(.request)
        clock.advance(by: .seconds(1))
        feed.give(300_000)
        try await feed.reached(.chunk)
        clock.advance(by: .seconds(1))
        let half = try await fixture.account.progress()
        #expect(half.uploads.description == "0 of 1 files, 300000 of 1000000 bytes")
        #expect(half.uploads.throughput == 150_000 && half.uploads.fraction == 0.3)
        #expect(half.uploads.timeLeft == .seconds(700.0 / 150))
        feed.give(700_000)
        feed.finish()
        try await fixture.waitUntilIdle()
        let whole = try await fixture.account.progress()
        #expect(whole.uploads.description == "1 of 1 files, 1000000 of 1000000 bytes")
        #expect(whole.uploads.throughput == 500_000)
        clock.advance(by: .seconds(60))
        #expect(try await fixture.account.progress().uploads.throughput == 0)
        await fixture.account.close()
    }

    @Test("Bytes count as they pass to a folder, also those of a small file", arguments: [10, 300_000])
    func bytesToFolder(
        size: Int
    ) async throws {
        let place = FileManager.default.temporaryDirectory.appending(path: "strata-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: place) }
        let remote = try FolderRemote(place, isDurable: false)
        let tracker = TransferTracker(VirtualClock())
        let key = TransferTracker.Key(direction: .upload, number: 1, section: .data)
        let transfer = tracker.begin(key, of: 1, size: Int64(size))
        let body = RemoteBody(Data(count: size)).tracked(by: transfer)
        #expect(try await remote.put(body, at: RemoteKey(["a"]), if: .isAbsent).size == Int64(size))
        #expect(tracker.moment(.upload, for: .once(.account)).entries[key]?.done == Int64(size))
        // The bytes of an attempt that fails count once, when they are sent again.
        await #expect(throws: RemoteError.self) {
            try await remote.put(body, at: RemoteKey(["a"]), if: .isAbsent)
        }
        _ = try await remote.put(body, at: RemoteKey(["b"]), if: .isAbsent)
        #expect(tracker.moment(.upload, for: .once(.account)).entries[key]?.done == Int64(size))
        transfer.end()
    }

    @Test("Bytes of an interrupted transfer do not count, and count when they are sent again")
    func interruptedTransfer() async throws {
        let faults = Mutex(1)
        let remote = StrictRemote { request, _ in
            guard request.verb == "PUT",
                faults.withLock({
                    $0 -= 1; return $0 >= 0
                })
            else { return nil }
            return .before(RemoteError(.unauthorized, "Who?"))
        }
        let harness = try await CloudHarness(remote)
        let node = try await harness.commit { try $0.createNode(at: "/a").id }
        harness.handler.set("0123456789", of: node)
        try await harness.drain()
        let held = try await harness.account.progress()
        #expect(held.uploads.description == "0 of 1 files, 0 of ? bytes" && held.operationsLeft == 1)
        try await harness.account.credentialsChanged()
        try await harness.drain()
        #expect(try await harness.account.progress().uploads.description == "1 of 1 files, 10 of 10 bytes")
        await harness.account.close()
    }

    @Test("Parts that were sent earlier count at once")
    func earlierParts() async throws {
        let isCut = Mutex(true)
        let remote = StrictRemote(RemoteCapabilities(minimumPartSize: 4, isLocal: true)) { request, _ in
            request.verb == "PART 3" && isCut.withLock { $0 } ? .before(RemoteError(.unauthorized, "Who?")) : nil
        }
        let harness = try await CloudHarness(
            remote,
            options: CloudOptions(partSize: 5, maxConcurrentParts: 1, clock: VirtualClock())
        )
        let node = try await harness.commit { try $0.createNode(at: "/a").id }
        harness.handler.set("01234567890123456789", of: node)
        try await harness.drain()
        isCut.withLock { $0 = false }
        try await harness.account.credentialsChanged()
        try await harness.drain()
        let progress = try await harness.account.progress()
        #expect(progress.uploads.description == "1 of 1 files, 20 of 20 bytes")
        // The first attempt sends three parts, of which the third fails. The second attempt sends the last two.
        #expect(progress.uploads.throughput == 25)
        await harness.account.close()
    }

    @Test("A mark counts as remaining until its download is recorded")
    func remainingMarks() async throws {
        let scratch = DownloadTests.Scratch()
        let remote = StrictRemote()
        remote.folder("home")
        remote.write("home/n", "0123456789")
        remote.write("home/m", "0123")
        let harness = try await CloudHarness(
            remote,
            options: CloudOptions(download: .byApplication, cacheFolder: scratch.folder)
        )
        try await harness.account.pull()
        #expect(try await harness.account.progress().downloads.description == "0 of 2 files, 0 of 14 bytes")
        let node = try await harness.read { try $0.node(at: "/n").id }
        try await harness.account.downloads.fetch(node).release()
        let arrived = try await harness.account.progress()
        #expect(arrived.downloads.description == "0 of 2 files, 10 of 14 bytes" && !arrived.isIdle)
        try await harness.commit { cloud in try cloud.unmarkNeedsDownload(cloud.node(at: "/n"), .data) }
        #expect(try await harness.account.progress().downloads.description == "1 of 2 files, 10 of 14 bytes")
        #expect(try await harness.account.progress(of: node).downloads.description == "1 of 1 files, 10 of 10 bytes")
        // A download without a mark counts as well.
        try await harness.account.downloads.fetch(node).release()
        #expect(try await harness.account.progress(of: node).downloads.description == "2 of 2 files, 20 of 20 bytes")
        await harness.account.close()
        _ = scratch
    }

    @Test("Followers receive the newest value, and a complete bar starts over with the next work")
    func newestValue() async throws {
        let clock = VirtualClock()
        let feed = Feed(size: 1_000_000)
        let fixture = try await PiecewiseUploadFixture(feed, clock)
        var changes = fixture.account.progressChanges(every: .zero).makeAsyncIterator()
        try await feed.reached(.request)
        #expect(try await changes.next()?.uploads.filesLeft == 1)
        feed.give(600_000)
        try await changes.wait { $0.uploads.bytesDone == 600_000 && $0.uploads.bytesTotal == 1_000_000 }
        feed.give(400_000)
        feed.finish()
        try await changes.wait { $0.isIdle && $0.uploads.description == "1 of 1 files, 1000000 of 1000000 bytes" }
        // The account's progress counts all uploads. The loop's progress counts only the uploads since the bar was
        // full.
        fixture.account.uploads.suspend()
        let node = try await fixture.account.commit { try $0.createNode(at: "/other", size: 7).id }
        try await changes.wait { $0.uploads.description == "0 of 1 files, 0 of 7 bytes" }
        #expect(try await fixture.account.progress().uploads.description == "1 of 2 files, 1000000 of 1000007 bytes")
        #expect(try await fixture.account.progress(of: node).uploads.filesLeft == 1)
        await fixture.account.close()
        #expect(try await changes.next() == nil)
    }

    @Test("No value arrives before its interval has passed")
    func interval() async throws {
        let clock = VirtualClock()
        let harness = try await CloudHarness(options: CloudOptions(clock: clock))
        let (told, teller) = AsyncStream.makeStream(of: Int.self)
        let changes = harness.account.progressChanges(every: .seconds(2))
        let task = Task { for try await progress in changes { teller.yield(progress.uploads.filesLeft) } }
        var values = told.makeAsyncIterator()
        #expect(await values.next() == 0)
        for index in 0..<5 {
            try await harness.commit { cloud in _ = try cloud.createNode(at: TreePath(["\(index)"])) }
        }
        await clock.waitForAlarm(after: .seconds(2))
        clock.advance(by: .seconds(2))
        #expect(await values.next() == 5)
        task.cancel()
        await harness.account.close()
    }

    @Test("Changes before a reading wake the reader once, and a change after its start wakes the reader again")
    func ringsOnce() async {
        let tracker = TransferTracker(VirtualClock())
        let (stream, bell, _) = tracker.rings(.account)
        var rings = stream.makeAsyncIterator()
        tracker.ring()
        let isWoken = await rings.next() != nil
        tracker.ring()
        bell.reset()
        tracker.ring()
        let isWokenAgain = await rings.next() != nil
        tracker.ring()
        bell.finish()
        let isWokenInVain = await rings.next() != nil
        #expect(isWoken && isWokenAgain && !isWokenInVain)
    }

    @Test("Many changes within an interval need no more alarms than one change")
    func alarmsOfAnInterval() async throws {
        let clock = CountingClock()
        let harness = try await CloudHarness(options: CloudOptions(clock: clock))
        let (told, teller) = AsyncStream.makeStream(of: Int.self)
        let changes = harness.account.progressChanges(every: .seconds(2))
        let task = Task { for try await progress in changes { teller.yield(progress.uploads.filesLeft) } }
        var values = told.makeAsyncIterator()
        #expect(await values.next() == 0)
        let due = clock.now.addingTimeInterval(2)
        for index in 0..<30 {
            try await harness.commit { cloud in _ = try cloud.createNode(at: TreePath(["\(index)"])) }
        }
        await clock.base.waitForAlarm(after: .seconds(2))
        clock.base.advance(by: .seconds(2))
        #expect(await values.next() == 30)
        // A change that comes while the loop begins may wake it a second time.
        #expect(clock.count(of: due) <= 2)
        task.cancel()
        await harness.account.close()
    }

    @Test("A cancelled task ends its loop")
    func cancelledLoop() async throws {
        let harness = try await CloudHarness()
        let changes = harness.account.progressChanges()
        let task = Task {
            var count = 0
            for try await _ in changes { count += 1 }
            return count
        }
        task.cancel()
        #expect(try await task.value <= 1)
        await harness.account.close()
    }

    @Test("A loop gets the last value when the account is closed, also before its interval has passed")
    func lastValue() async throws {
        let harness = try await CloudHarness(options: CloudOptions(clock: VirtualClock()))
        let node = try await harness.commit { try $0.createNode(at: "/a").id }
        harness.handler.set("0123456789", of: node)
        var values = harness.account.progressChanges(every: .seconds(60)).makeAsyncIterator()
        #expect(try await values.next()?.uploads.filesLeft == 1)
        try await harness.drain()
        await harness.account.close()
        let last = try await values.next()
        #expect(last?.uploads.description == "1 of 1 files, 10 of 10 bytes")
        #expect(last?.isIdle == true)
        #expect(try await values.next() == nil)
    }

    @Test("A loop that runs ends with the stack, and a loop over a closed stack throws")
    func closedStack() async throws {
        let harness = try await CloudHarness()
        let changes = harness.account.progressChanges(every: .zero)
        var running = changes.makeAsyncIterator()
        #expect(try await running.next()?.isIdle == true)
        try await harness.stack.close()
        #expect(try await running.next() == nil)
        let error = await #expect(throws: StrataError.self) {
            for try await _ in changes {}
        }
        #expect(error?.code == .closed)
        await harness.account.close()
    }

    @Test("A new value reads only the changed part of the remaining work")
    func onlyChanges() async throws {
        let harness = try await CloudHarness()
        let node = try await harness.commit { try $0.createNode(at: "/a", size: 5).id }
        var changes = harness.account.progressChanges(every: .zero).makeAsyncIterator()
        #expect(try await changes.next()?.uploads.description == "0 of 1 files, 0 of 5 bytes")
        // No reading can decode this payload any more, and no one is notified of the change.
        try harness.stack.transact(author: "test") { transaction in
            try transaction.run("UPDATE \"QueuedOperation\" SET \"payload\" = x'00'", [])
        }
        try await harness.commit { _ = try $0.createNode(at: "/b", size: 7) }
        #expect(try await changes.next()?.uploads.description == "0 of 2 files, 0 of 12 bytes")
        await #expect(throws: (any Error).self) { try await harness.account.progress(of: node) }
        await harness.account.close()
    }

    private static func path(_ index: Int) -> TreePath {
        TreePath([index.isMultiple(of: 2) ? "in" : "out", "\(index)"])
    }

    @Test("A new value contains the changes of many nodes, for the account and for a folder")
    func manyChangedNodes() async throws {
        let harness = try await CloudHarness(options: CloudOptions(download: .byApplication))
        let folder = try await harness.commit { cloud in
            for index in 0..<40 { try cloud.createNode(at: Self.path(index), size: 1) }
            return try cloud.node(at: "/in").id
        }
        var whole = harness.account.progressChanges(every: .zero).makeAsyncIterator()
        var part = harness.account.progressChanges(below: folder, every: .zero).makeAsyncIterator()
        #expect(try await whole.next()?.uploads.description == "0 of 40 files, 0 of 40 bytes")
        #expect(try await part.next()?.uploads.description == "0 of 20 files, 0 of 20 bytes")
        try await harness.commit { cloud in
            for index in 0..<40 { try cloud.upload(cloud.node(at: Self.path(index)), size: 3) }
        }
        #expect(try await whole.next()?.uploads.description == "0 of 40 files, 0 of 120 bytes")
        #expect(try await part.next()?.uploads.description == "0 of 20 files, 0 of 60 bytes")
        try await harness.commit { cloud in
            for index in stride(from: 1, to: 40, by: 2) {
                for operation in try cloud.operations(for: cloud.node(at: Self.path(index))) { operation.skip() }
            }
            for index in 0..<30 { try cloud.markNeedsDownload(cloud.node(at: Self.path(index)), .data) }
        }
        try await whole.wait {
            $0.uploads.description == "0 of 20 files, 0 of 60 bytes" && $0.downloads.filesLeft == 30
        }
        try await part.wait { $0.uploads.filesLeft == 20 && $0.downloads.filesLeft == 15 }
        await harness.account.close()
    }

    @Test("Downloads whose marks stay do not count as done, however many they are")
    func unfinishedMarks() async throws {
        let scratch = DownloadTests.Scratch()
        let remote = StrictRemote()
        remote.folder("home")
        let count = 1100
        for number in 0..<count { remote.write("home/\(number)", "12") }
        let harness = try await CloudHarness(
            remote,
            options: CloudOptions(download: .byApplication, cacheFolder: scratch.folder)
        )
        try await harness.account.pull()
        let nodes = try await harness.read { try $0.nodesMarkedForDownload().map(\.id) }
        for node in nodes { try await harness.account.downloads.fetch(node).release() }
        #expect(try await harness.account.progress().downloads.description == "0 of 1100 files, 2200 of 2200 bytes")
        try await harness.commit { cloud in
            for node in try cloud.nodesMarkedForDownload() { try cloud.unmarkNeedsDownload(node) }
        }
        #expect(try await harness.account.progress().downloads.description == "1100 of 1100 files, 2200 of 2200 bytes")
        await harness.account.close()
    }

    @Test("Finished work is counted in total and by the most recent nodes")
    func doneWork() {
        var log = TransferLog()
        for node in Int64(1)...20_000 {
            let source = TransferWindow.Source(direction: .upload, node: node)
            log.add(TransferTracker.Done(files: 1, bytes: 3), of: source)
        }
        #expect(log.done(.upload, .account) == [0: TransferTracker.Done(files: 20_000, bytes: 60_000)])
        let last = log.done(.upload, .below(1))
        #expect((TransferLog.length...2 * TransferLog.length).contains(last.count))
        #expect(last[20_000 - Int64(TransferLog.length) + 1] == TransferTracker.Done(files: 1, bytes: 3))
        #expect(log.done(.download, .account) == [:])
    }
}

/// A virtual clock that records the dates of all alarms, including those that were cancelled.
private final class CountingClock: PipelineClock {
    let base = VirtualClock()
    private let dates = Mutex<[Date]>([])

    var now: Date { base.now }

    func alarm(at date: Date, _ body: @escaping @Sendable () -> Void) -> any PipelineAlarm {
        dates.withLock { $0.append(date) }
        return base.alarm(at: date, body)
    }

    func count(of date: Date) -> Int { dates.withLock { dates in dates.count { $0 == date } } }
}

extension CloudProgressChanges.Iterator {
    /// Reads values until one satisfies the condition.
    fileprivate mutating func wait(_ isSo: (CloudProgress) -> Bool) async throws {
        while let progress = try await next() { if isSo(progress) { return } }
        Issue.record("The sequence has ended before.")
    }
}
