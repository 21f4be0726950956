import Foundation
import Strata
import StrataCloud
import StrataInspection
import StrataPipeline

/// One picture of `strata top`: the store, its queues, the running operations and the transfers.
struct TopPicture: Sendable {
    let file: String
    let sizes: StoreFileSizes
    let newest: StoreRecord.NewestCommit?
    /// Nil if the system does not tell.
    let processes: StoreProcesses?
    /// Nil if the store has no queues.
    let queues: [QueueSummary]?
    /// The first running operations.
    let running: [JobRow]
    /// Nil if the store has no accounts.
    let transfers: [AccountTransfers]?
    let time: Date

    /// The work in the queues and accounts of a store.
    private struct Work: Sendable {
        var queues: [QueueSummary]?
        var running: [JobRow] = []
        var transfers: [AccountTransfers]?
    }

    /// - Parameters:
    ///   - file: the name of the store for people.
    ///   - stack: a stack with the models of queues and accounts that the store has.
    ///   - hasQueues: whether the stack knows the models of queues.
    ///   - hasAccounts: whether the stack knows the models of accounts.
    ///   - limit: the greatest number of running operations, and of uploads and downloads of each account.
    /// - Complexity: that of `queueSummaries(limit:)` and of the listings of transfers, and O(open files of all
    ///   processes).
    init(
        of file: String,
        _ stack: ContextStack,
        hasQueues: Bool,
        hasAccounts: Bool,
        limit: Int
    ) async throws {
        self.file = file
        processes = StoreProcesses(of: file)
        newest = try await stack.storeRecord().newest
        // One block, so that queues and transfers are of one state.
        let work = try await stack.background { context in
            var work = Work()
            if hasQueues {
                var filter = OperationFilter(at: Date())
                filter.status = .active
                work.queues = try context.queueSummaries(limit: .max)
                work.running = try JobRow.list(filter, limit: limit, in: context)
            }
            if hasAccounts { work.transfers = try AccountTransfers.all(in: context, limit: limit) }
            return work
        }
        (queues, running, transfers) = (work.queues, work.running, work.transfers)
        sizes = StoreFileSizes(of: file)
        time = Date()
    }

    // MARK: Text

    var lines: [String] {
        var lines = ["\(file)  \(Timestamp.text(time) ?? "-")"]
        lines += TextTable.lines(of: [
            ("size", "\(sizes.file) bytes, journal \(sizes.journal) bytes"), ("newest", newestText),
            ("processes", StoreProcesses.text(processes)),
        ])
        lines += queueLines
        if let transfers { lines += transferLines(transfers) }
        return lines
    }

    private var newestText: String {
        guard let newest else { return "no commit yet" }
        let age = newest.time.map { "\(Timestamp.age(since: $0, at: time)) ago" }
        return ["commit \(newest.sequence)", age, newest.author].compactMap { $0 }.joined(separator: ", ")
    }

    private var queueLines: [String] {
        guard let queues else { return ["", "The store has no queues."] }
        if queues.isEmpty { return ["", "The store has no pipelines yet."] }
        let count = queues.reduce(0) { $0 + ($1.counts[.active] ?? 0) }
        return [""] + QueueSummary.table(queues).lines + runningLines(of: count)
    }

    /// - Parameter count: the number of all running operations.
    private func runningLines(of count: Int) -> [String] {
        if running.isEmpty { return [] }
        var table = TextTable(["running", "pipeline", "lane", "id", "attempts", "since", "progress"])
        for operation in running {
            table.add([
                .text(operation.type), .text(operation.pipeline), .text(operation.lane), .number(operation.id),
                .number(operation.attempts),
                .text(operation.startedAt.map { Timestamp.age(since: $0, at: time) } ?? "-"),
                .text(operation.progress.flatMap { Self.percentage($0) } ?? ""),
            ])
        }
        return [""] + table.lines + (count > running.count ? ["… and \(count - running.count) more"] : [])
    }

    private func transferLines(_ accounts: [AccountTransfers]) -> [String] {
        let transfers = accounts.flatMap(\.transfers)
        if transfers.isEmpty { return ["", "No transfers."] }
        return [""] + TransferLine.table(of: transfers).lines
            + (accounts.allSatisfy(\.isComplete) ? [] : ["… and more"])
    }

    private static func percentage(_ fraction: Double) -> String? {
        (0...1).contains(fraction) ? "\(Int(fraction * 100)) %" : nil
    }
}
