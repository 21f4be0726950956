import Foundation
import Strata
import StrataCloud
import StrataPipeline

/// One picture of `strata top`: the store, its queues, the running operations and the transfers.
struct TopPicture: Sendable {
    let file: String
    /// The sizes of the file and of its journal in bytes.
    let sizes: (file: Int64, journal: Int64)
    let newest: StoreRecord.NewestCommit?
    /// Nil if the system does not tell.
    let processes: StoreProcesses?
    /// Nil if the store has no queues.
    let queues: QueueOverview?
    /// Nil if the store has no accounts.
    let transfers: [AccountTransfers]?
    let time: Date

    /// The work in the queues and accounts of a store.
    private struct Work: Sendable {
        var queues: QueueOverview?
        var transfers: [AccountTransfers]?
    }

    /// - Parameters:
    ///   - file: the name of the store for people.
    ///   - stack: a stack with the models of queues and accounts that the store has.
    ///   - hasQueues: whether the stack knows the models of queues.
    ///   - hasAccounts: whether the stack knows the models of accounts.
    ///   - limit: the greatest number of running operations, and of uploads and downloads of each account.
    /// - Complexity: O(queued operations, and open files of all processes).
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
            if hasQueues { work.queues = try QueueOverview(in: context, limit: limit) }
            if hasAccounts { work.transfers = try AccountTransfers.all(in: context, limit: limit) }
            return work
        }
        (queues, transfers) = (work.queues, work.transfers)
        let real = URL(fileURLWithPath: file).resolvingSymlinksInPath().path
        sizes = (file: Self.size(of: real), journal: Self.size(of: real + "-wal"))
        time = Date()
    }

    private static func size(of path: String) -> Int64 {
        var info = stat()
        return stat(path, &info) == 0 ? Int64(info.st_size) : 0
    }

    // MARK: Text

    var lines: [String] {
        var lines = ["\(file)  \(Timestamp.text(time) ?? "-")"]
        lines.append("size       \(sizes.file) bytes, journal \(sizes.journal) bytes")
        lines.append("newest     \(newestText)")
        lines.append("processes  \(StoreProcesses.text(processes))")
        lines += queueLines
        if let transfers { lines += transferLines(transfers) }
        return lines
    }

    private var newestText: String {
        guard let newest else { return "no commit yet" }
        let age = newest.time.map { "\(Self.age(since: $0, at: time)) ago" }
        return ["commit \(newest.sequence)", age, newest.author].compactMap { $0 }.joined(separator: ", ")
    }

    private var queueLines: [String] {
        guard let queues else { return ["", "The store has no queues."] }
        if queues.queues.isEmpty { return ["", "No operations are queued."] }
        let statuses = OperationStatus.allCases
        var names = ["queue"]
        names += statuses.map(\.description)
        names += ["blocked lanes", "oldest", "paused by"]
        var table = TextTable(names)
        for queue in queues.queues {
            var row: [TextTable.Cell] = [.text(queue.name.rawValue)]
            row += statuses.map { TextTable.Cell.number(queue.counts[$0, default: 0]) }
            row.append(.number(queue.blockedLanes.count))
            row.append(.text(queue.oldest.map { Self.age(since: $0, at: time) } ?? "-"))
            row.append(.text(queue.pause?.by ?? ""))
            table.add(row)
        }
        return [""] + table.lines + runningLines(queues)
    }

    private func runningLines(_ queues: QueueOverview) -> [String] {
        if queues.running.isEmpty { return [] }
        var table = TextTable(["running", "queue", "lane", "operation", "attempts", "since", "progress"])
        for operation in queues.running {
            table.add([
                .text(operation.type), .text(operation.queue), .text(operation.lane), .number(operation.id),
                .number(operation.attempts),
                .text(operation.startedAt.map { Self.age(since: $0, at: time) } ?? "-"),
                .text(operation.progress.flatMap { Self.percentage($0) } ?? ""),
            ])
        }
        let rest = queues.runningCount - queues.running.count
        return [""] + table.lines + (rest > 0 ? ["… and \(rest) more"] : [])
    }

    private func transferLines(_ accounts: [AccountTransfers]) -> [String] {
        let transfers = accounts.flatMap(\.transfers)
        if transfers.isEmpty { return ["", "No transfers."] }
        return [""] + TransferLine.table(of: transfers).lines
            + (accounts.allSatisfy(\.isComplete) ? [] : ["… and more"])
    }

    /// The time since a date in its largest unit, such as `12 s`. A clock that was set back gives zero.
    static func age(since date: Date, at time: Date) -> String {
        let seconds = max(time.timeIntervalSince(date), 0)
        return switch seconds {
        case ..<120: "\(Int(seconds)) s"
        case ..<7200: "\(Int(seconds / 60)) min"
        case ..<172_800: "\(Int(seconds / 3600)) h"
        // A store may contain any date.
        default: "\(Int(min(seconds / 86400, 1e9))) d"
        }
    }

    private static func percentage(_ fraction: Double) -> String? {
        (0...1).contains(fraction) ? "\(Int(fraction * 100)) %" : nil
    }
}
