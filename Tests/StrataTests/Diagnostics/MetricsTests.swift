import Foundation
import Metrics
import MetricsTestKit
import StoreModels
import Testing

@testable import Strata

extension ContextName {
    fileprivate static let first: ContextName = "first"
    fileprivate static let second: ContextName = "second"
}

@Suite("Metrics") struct MetricsTests {
    private let metrics = TestMetrics()
    private let dimensions = [("store", "bank")]

    private func open() async throws -> ContextStack {
        try await ContextStack.open(
            .inMemory,
            models: Bank.models,
            stack: .rootOnly,
            diagnostics: Diagnostics(metrics: metrics, metricsDimensions: dimensions)
        )
    }

    private func total(_ label: String, _ more: (String, String)...) -> Int64 {
        metrics.counterTotal(label: label, dimensions: dimensions + more)
    }

    @Test("Commits, their rows and times are measured, with the dimensions of the stack")
    func commits() async throws {
        let stack = try await open()
        try await stack.on(.root) { context in
            try Bank.found(in: context)
            let accounts = try context.fetch(Account.all)
            accounts[0].balance += 1
            accounts[1].balance -= 1
            context.delete(accounts[2])
            try context.commit()
            // A commit without changes is not counted.
            try context.commit()
        }
        #expect(total("strata.commits") == 2)
        #expect(total("strata.rows.written", ("kind", "inserted")) == Int64(Bank.accountCount + 1))
        #expect(total("strata.rows.written", ("kind", "updated")) == 2)
        #expect(total("strata.rows.written", ("kind", "deleted")) == 1)
        let durations = try metrics.expectTimer("strata.commit.duration", dimensions).values
        let waits = try metrics.expectTimer("strata.write.wait", dimensions).values
        #expect(durations.count == 2 && waits.count == 2)
        #expect(zip(durations, waits).allSatisfy { $0 >= $1 && $1 >= 0 })
        #expect(try #require(metrics.expectGauge("strata.wal.bytes", dimensions).lastValue) > 0)
        #expect(total("strata.batches") == 0 && total("strata.conflicts") == 0)
        try await stack.close()
    }

    @Test("The size of the journal is measured even if the store is opened through a link")
    func link() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        try FileManager.default.createSymbolicLink(at: folder.file("link.sqlite"), withDestinationURL: url)
        let stack = try await ContextStack.open(
            .sqlite(folder.file("link.sqlite")),
            models: Bank.models,
            stack: .rootOnly,
            diagnostics: Diagnostics(metrics: metrics, metricsDimensions: dimensions)
        )
        try await stack.on(.root) { _ = try Bank.transfer(1, in: $0) }
        #expect(try #require(metrics.expectGauge("strata.wal.bytes", dimensions).lastValue) > 0)
        try await stack.close()
    }

    @Test("Failures are counted by their code, and conflicts column by column, in saves too")
    func failures() async throws {
        let stack = try await open()
        try await stack.on(.root) { try Bank.found(in: $0) }
        let first = try stack.create(.private, named: .first)
        let second = try stack.create(.private, named: .second)
        for handle in [first, second] {
            try await handle.perform { context in
                let account = try #require(try context.first(Account.sorted { $0.name.ascending }))
                account.balance = handle.id
                account.note = "\(handle.id)"
            }
        }
        try await first.commit()
        await expect(.conflict) { try await second.commit() }
        #expect(total("strata.commit.failures", ("code", "conflict")) == 1)
        #expect(total("strata.conflicts") == 2)
        await expect(.conflict) { try await second.save() }
        #expect(total("strata.conflicts") == 4 && total("strata.commit.failures", ("code", "conflict")) == 1)
        try await first.perform { context in
            _ = context.insert(Account(name: "account 1", balance: 0))
        }
        await expect(.notUnique) { try await first.commit() }
        #expect(total("strata.commit.failures", ("code", "notUnique")) == 1)
        #expect(total("strata.commits") == 2)
        try await stack.close()
    }

    @Test("Batches are counted separately from commits")
    func batches() async throws {
        let stack = try await open()
        try await stack.on(.root) { context in
            try Bank.found(in: context)
            try context.batchUpdate(Account.all) { $0.note.set(to: "seen") }
            try context.batchDelete(Account.where { $0.name == "account 0" })
        }
        #expect(total("strata.commits") == 1 && total("strata.batches") == 2)
        #expect(total("strata.rows.written", ("kind", "updated")) == Int64(Bank.accountCount))
        #expect(total("strata.rows.written", ("kind", "deleted")) == 1)
        #expect(try metrics.expectTimer("strata.batch.duration", dimensions).values.count == 2)
        try await stack.close()
    }

    @Test("The waiting time of blocks is measured")
    func waits() async throws {
        let stack = try await open()
        let (entered, leave) = (Signal(), Signal())
        let root = try stack[.root]
        async let holding: Void = root.perform { _ in
            entered.set()
            await leave.wait()
        }
        await entered.wait()
        async let waiting: Void = root.perform { _ in }
        await untilWaiting(1, at: root)
        let queued = ContinuousClock.now
        let held = queued.duration(to: .now)
        leave.set()
        _ = try await (holding, waiting)
        let values = try metrics.expectTimer("strata.context.wait", dimensions).values
        #expect(values.count == 2)
        // The second block was in the queue before `queued`, and until `leave`.
        let longest = try #require(values.max())
        #expect(Duration.nanoseconds(longest) >= held)
        try await stack.close()
    }

    @Test("Readers in use, and blocks that wait for one, are measured")
    func usedReaders() async throws {
        let stack = try await ContextStack.open(
            .inMemory,
            models: Bank.models,
            stack: .rootOnly,
            configuration: StoreConfiguration(maximumReaderCount: 1),
            diagnostics: Diagnostics(metrics: metrics, metricsDimensions: dimensions)
        )
        let used = try metrics.expectGauge("strata.readers.used", dimensions)
        let waiting = try metrics.expectGauge("strata.readers.waiting", dimensions)
        let (entered, leave) = (Signal(), Signal())
        async let first: Void = stack.background { context in
            _ = try context.count(Account.all)
            #expect(used.lastValue == 1)
            entered.set()
            await leave.wait()
        }
        await entered.wait()
        async let second: Int = stack.background { try $0.count(Account.all) }
        while stack.core.engine.waitingCount == 0, !Task.isCancelled { await Task.yield() }
        #expect(waiting.lastValue == 1)
        leave.set()
        _ = try await (first, second)
        #expect(used.lastValue == 0 && waiting.lastValue == 0)
        try await stack.close()
    }

    @Test("The writes that wait for the writer are measured after each write, also after a failed one")
    func waitingWrites() async throws {
        let stack = try await open()
        try await stack.on(.root) { try Bank.found(in: $0) }
        let gauge = try metrics.expectGauge("strata.writes.waiting", dimensions)
        #expect(gauge.lastValue == 0)
        let store = stack.core.engine
        let results: [Result<Int64, any Error>] = [.success(1), .failure(CancellationError())]
        for (index, result) in results.enumerated() {
            store.telemetry.report(
                .commit,
                WriteWatch(),
                of: "test",
                journal: store.journal,
                waitingWrites: index + 1,
                result
            ) { WriteOutcome(sequence: $0, rows: RowCounts([] as [any AnyRowChanges])) }
            #expect(gauge.lastValue == Double(index + 1))
        }
        try await stack.close()
    }

    @Test("The number of open readers is measured, and is zero after the stack is closed")
    func readers() async throws {
        let stack = try await open()
        let gauge = try metrics.expectGauge("strata.readers.open", dimensions)
        try await stack.on(.root) { context in
            _ = try context.count(Account.all)
            #expect(gauge.lastValue == 1)
            let cursor = try context.cursor(Account.all)
            #expect(gauge.lastValue == 2)
            cursor.close()
        }
        #expect(gauge.lastValue == 2)
        try await stack.close()
        #expect(gauge.lastValue == 0)
        #expect(try metrics.expectGauge("strata.readers.used", dimensions).lastValue == 0)
    }
}
