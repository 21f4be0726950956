import Foundation
import Strata

/// What was stored by a clock that was ahead, and has been set back since, also while no process had the store open.
extension OperationBook {
    /// By how many seconds a clock may be off without anything being planned anew.
    static let clockTolerance = 60.0

    /// Corrects times that were stored by a clock that was ahead: a pause begins now at the latest, and nothing has ended later than now.
    ///
    /// Named holds of the application, and `notBefore`, are times of day, and stay.
    ///
    /// - Complexity: O(times that are corrected), of which there is a bounded number for what has ended.
    func correctFutureTimes() throws {
        try correctPauses()
        let late: [StoredValue] = [
            .real(now.addingTimeInterval(Self.clockTolerance).timeIntervalSinceReferenceDate), .integer(Self.portion),
        ]
        // Otherwise they would be kept for so much longer, and count as the newest ones.
        try correct(late, of: FinishedOperation.self, "finishedAt", QueueSQL.selectFinishedAfter, QueueSQL.moveFinished)
        try correct(late, of: OperationTransition.self, "at", QueueSQL.selectStepsAfter, QueueSQL.moveStep)
    }

    /// How many rows one transaction changes.
    private static let portion: Int64 = 1000

    /// Has pauses before attempts be as long as they were meant to be, from now on, if they seem to have begun later than now.
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
            try transaction.note(updated: id, ["until", "since"], of: OperationHold.self)
        }
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
        try transaction.note(updated: numbers, [column], of: model)
    }
}
