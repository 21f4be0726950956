import Foundation
import Strata

extension OperationBook {
    /// Reports changed columns of an operation, including its status.
    func noteStep(of number: Int64, _ columns: [String]) throws {
        try noteSteps(of: [number], columns)
    }

    /// Reports changed columns of several operations.
    func noteSteps(of numbers: [Int64], _ columns: [String]) throws {
        try transaction.note(updated: numbers, columns, of: QueuedOperation.self)
        try journal(numbers)
    }

    /// Records the operations' present status or result in the journal, if their pipeline keeps one.
    func journal(_ numbers: [Int64]) throws {
        guard try isJournalled() else { return }
        for number in numbers { try write(number) }
    }

    /// Records one operation's present status or result in the journal.
    func journal(_ number: Int64) throws { try journal([number]) }

    /// Records the deletion of operations. Only the last known values of the rows are available.
    func journal(deleted rows: [QueuedOperation.Row]) throws {
        guard try isJournalled() else { return }
        for row in rows where try rules(row.pipeline).isJournalled {
            try insert(row.id.number, row.pipeline, "deleted", row.attempts, nil)
        }
    }

    /// Whether any pipeline keeps a journal.
    private func isJournalled() throws -> Bool {
        if let known = news.isJournalled { return known }
        let isJournalled = try transaction.integer(QueueSQL.selectAnyJournalled, []) != nil
        news.isJournalled = isJournalled
        return isJournalled
    }

    private func write(_ number: Int64) throws {
        var entry: (pipeline: PipelineName, status: String, attempts: Int, reason: String?)?
        try transaction.rows(QueueSQL.selectStep, [.integer(number)]) { row in
            let status = try row.read(OperationStatus?.self, at: 1)
            let constraint = try row.read(String?.self, at: 4)
            let failures = try? row.read(AttemptFailures.self, at: 5)
            entry = (
                PipelineName(try row.read(String.self, at: 0)),
                try status?.description ?? row.read(String.self, at: 2),
                try row.read(Int.self, at: 3),
                status == .failed ? failures?.list.last?.message : constraint
            )
        }
        guard let entry, try rules(entry.pipeline).isJournalled else { return }
        try insert(number, entry.pipeline, entry.status, entry.attempts, entry.reason)
    }

    private func insert(
        _ number: Int64,
        _ pipeline: PipelineName,
        _ status: String,
        _ attempts: Int,
        _ reason: String?
    ) throws {
        let id = try transaction.newID()
        try transaction.run(
            QueueSQL.insertStep,
            [
                .integer(id), .integer(number), .text(pipeline.rawValue), .text(status), .integer(Int64(attempts)),
                reason.map { .text($0) } ?? .null, .integer(transaction.number),
                .real(now.timeIntervalSinceReferenceDate),
            ]
        )
        try transaction.note(inserted: id, of: OperationTransition.self)
    }
}
