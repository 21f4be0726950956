import Foundation
import Strata

extension OperationRepository {
    /// Reports changed columns of an operation, including its status.
    ///
    /// - Parameter reason: the reason for the transition, if the operation's row does not contain it.
    func reportStatusChange(of number: Int64, _ columns: [String], reason: String? = nil) throws {
        try transaction.report(updated: [number], columns, of: QueuedOperation.self)
        try recordTransitions(of: [number], reason: reason)
    }

    /// Reports changed columns of several operations.
    func reportStatusChanges(of numbers: [Int64], _ columns: [String]) throws {
        try transaction.report(updated: numbers, columns, of: QueuedOperation.self)
        try recordTransitions(of: numbers)
    }

    /// Records the operations' present status or result as transitions, if their pipeline records them.
    ///
    /// - Parameter reason: as for ``reportStatusChange(of:_:reason:)``.
    func recordTransitions(of numbers: [Int64], reason: String? = nil) throws {
        guard try areTransitionsRecorded() else { return }
        for number in numbers { try write(number, reason) }
    }

    /// Records the deletion of operations. Only the last known values of the rows are available.
    func recordTransitions(ofDeleted rows: [QueuedOperation.Row]) throws {
        guard try areTransitionsRecorded() else { return }
        for row in rows where try rules(row.pipeline).recordsTransitions {
            try insert(row.id.rawValue, row.pipeline, "deleted", row.attempts, nil)
        }
    }

    /// Whether any pipeline records transitions.
    func areTransitionsRecorded() throws -> Bool {
        if let known = sideResults.facts.areTransitionsRecorded { return known }
        let areTransitionsRecorded = try transaction.integer(QueueSQL.selectAnyRecordingTransitions, []) != nil
        sideResults.facts.areTransitionsRecorded = areTransitionsRecorded
        return areTransitionsRecorded
    }

    private func write(_ number: Int64, _ reason: String?) throws {
        var entry: (pipeline: PipelineName, status: String, attempts: Int, reason: String?)?
        try transaction.rows(QueueSQL.selectTransition, [.integer(number)]) { row in
            let status = try row.read(OperationStatus?.self, at: 1)
            let constraint = try row.read(String?.self, at: 4)
            let failures = try? row.read(AttemptFailures.self, at: 5)
            entry = (
                PipelineName(try row.read(String.self, at: 0)),
                try status?.description ?? row.read(String.self, at: 2),
                try row.read(Int.self, at: 3),
                status == .failed ? failures?.list.last?.message : constraint ?? reason
            )
        }
        guard let entry, try rules(entry.pipeline).recordsTransitions else { return }
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
            QueueSQL.insertTransition,
            [
                .integer(id), .integer(number), .text(pipeline.rawValue), .text(status), .integer(Int64(attempts)),
                reason.map { .text($0) } ?? .null, .integer(transaction.number),
                .real(now.timeIntervalSinceReferenceDate),
            ]
        )
        try transaction.report(inserted: id, of: OperationTransition.self)
    }
}
