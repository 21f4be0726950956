import Foundation
import Strata

/// Corrections of times that were stored by a clock that was ahead and has been set back since, also while no process
/// had the store open.
extension OperationRepository {
    /// The number of seconds that a clock may be off without a new plan.
    static let clockTolerance = 60.0

    /// Corrects times that were stored by a clock that was ahead. A pause begins now at the latest, and no operation
    /// has ended later than now.
    ///
    /// Named holds of the application, and `notBefore`, are fixed dates and stay.
    ///
    /// - Complexity: O(corrected times). For finished operations their number is bounded.
    func correctFutureTimes() throws {
        try correctPauses()
        try correctLaneTimes()
        let late: [StoredValue] = [
            .real(now.addingTimeInterval(Self.clockTolerance).timeIntervalSinceReferenceDate), .integer(Self.chunkSize),
        ]
        try correctDebounced(late)
        // Without the correction they would be kept longer by the difference, and would count as the newest.
        try correct(late, of: FinishedOperation.self, "finishedAt", QueueSQL.selectFinishedAfter, QueueSQL.moveFinished)
        try correct(late, of: OperationTransition.self, "at", QueueSQL.selectTransitionsAfter, QueueSQL.moveTransition)
    }

    /// The number of rows that one transaction changes.
    private static let chunkSize: Int64 = 1000

    /// Restarts the pauses before attempts that seem to have begun later than now, with their intended length.
    private func correctPauses() throws {
        var pauses: [(id: Int64, seconds: Double)] = []
        try transaction.rows(QueueSQL.selectPausesBegunAfter, [.real(now.timeIntervalSinceReferenceDate)]) { row in
            pauses.append((try row.read(Int64.self, at: 0), try row.read(Double.self, at: 1)))
        }
        for (id, seconds) in pauses {
            try transaction.run(
                QueueSQL.movePause,
                [
                    .real(now.later(by: seconds).timeIntervalSinceReferenceDate),
                    .real(now.timeIntervalSinceReferenceDate),
                    version, .integer(id),
                ]
            )
            try transaction.report(updated: id, ["until", "since"], of: OperationHold.self)
        }
    }

    /// Restarts the waits of debounced operations that seem to have begun later than now, with their length.
    private func correctDebounced(_ late: [StoredValue]) throws {
        guard try areDebounced() else { return }
        let numbers = try transaction.numbers(QueueSQL.selectDebouncedAfter, late)
        if numbers.isEmpty { return }
        for number in numbers {
            try transaction.run(
                QueueSQL.moveDebouncedTime,
                [.real(now.timeIntervalSinceReferenceDate), version, .integer(number)]
            )
        }
        try transaction.report(updated: numbers, ["firstAt", "lastAt", "dueAt"], of: DebouncedOperation.self)
    }

    private func correct(
        _ late: [StoredValue],
        of model: any Model.Type,
        _ column: String,
        _ select: String,
        _ move: String
    ) throws {
        let numbers = try transaction.numbers(select, late)
        if numbers.isEmpty { return }
        for number in numbers {
            try transaction.run(move, [.real(now.timeIntervalSinceReferenceDate), version, .integer(number)])
        }
        try transaction.report(updated: numbers, [column], of: model)
    }
}
