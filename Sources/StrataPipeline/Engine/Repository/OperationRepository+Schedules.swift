import Foundation
import Strata

extension OperationRepository {
    /// The next date at which a hold ends, an operation expires, a lane opens or a schedule is due; nil if nothing is
    /// due later.
    ///
    /// - Parameter date: schedules that were due up to this date do not count, because they have been handled.
    func nextDue(after date: Date = .distantPast) throws -> Date? {
        var next: Date?
        try transaction.rows(QueueSQL.selectNextDue, [Self.value(date)]) { next = try $0.read(Date?.self, at: 0) }
        guard try areLanesLimited(), let opening = try nextOpening() else { return next }
        return min(next ?? opening, opening)
    }

    /// Computes the next due date of new and changed schedules.
    func plan() throws {
        var changed: [(id: Int64, schedule: String, isPaused: Bool)] = []
        try transaction.rows(QueueSQL.selectUnplanned, []) { row in
            changed.append(
                (try row.read(Int64.self, at: 0), try row.read(String.self, at: 1), try row.read(Bool.self, at: 2))
            )
        }
        for (id, text, isPaused) in changed {
            let schedule = Schedule(rawValue: text)
            // If this machine does not know the time zone, other processes plan the schedule.
            guard isPaused || schedule?.isKnown == true else { continue }
            try plan(id, isPaused ? "" : text, isPaused ? nil : schedule?.next(after: now))
        }
    }

    /// Removes the due dates of paused schedules. So they are planned anew after the pause, and make up for nothing
    /// that was due during it, even if no engine has noticed the pause.
    func planPaused() throws {
        for id in try transaction.numbers(QueueSQL.selectUnplannedPaused, []) { try plan(id, "", nil) }
    }

    /// Plans schedules again whose due date is later than possible, because the clock was set back.
    func planAfterClockChange() throws {
        var planned: [(id: Int64, schedule: String, next: Date, last: Date?)] = []
        try transaction.rows(QueueSQL.selectPlanned, [Self.value(now)]) { row in
            planned.append(
                (
                    try row.read(Int64.self, at: 0), try row.read(String.self, at: 1), try row.read(Date.self, at: 2),
                    try row.read(Date?.self, at: 3)
                )
            )
        }
        for (id, text, next, last) in planned {
            // A small difference is not a clock change: the clocks of two machines differ a little, and a pass may have
            // waited for the store.
            let start = last.map { $0 > now.addingTimeInterval(Self.clockTolerance) ? now : max($0, now) } ?? now
            guard let earliest = Schedule(rawValue: text)?.next(after: start),
                next > earliest.addingTimeInterval(Self.clockTolerance)
            else { continue }
            try plan(id, text, earliest)
        }
    }

    private func plan(_ id: Int64, _ text: String, _ next: Date?) throws {
        try transaction.run(
            QueueSQL.plan,
            [.text(text), Self.value(next), .integer(transaction.number), .integer(id)]
        )
        try transaction.report(updated: id, ["planned", "nextAt"], of: PeriodicOperation.self)
    }

    private struct Due {
        let operation: PlannedOperation
        let schedule: String
        let overlap: OverlapPolicy
        let at: Date
        let catchUp: CatchUp

        init(_ row: RowReader) throws {
            operation = try PlannedOperation(row)
            schedule = try row.read(String.self, at: 8)
            overlap = try row.read(OverlapPolicy.self, at: 9)
            at = try row.read(Date.self, at: 10)
            catchUp = try row.read(CatchUp.self, at: 11)
        }
    }

    /// Queues the due operations of schedules. ``CatchUp`` decides how many, if a schedule was due several times.
    func runDueSchedules() throws {
        var after = Int64.min
        var count: Int
        repeat {
            var all: [Due] = []
            (count, after) = try readDueSchedules(after: after, &all)
            for due in all {
                // If this machine does not know the time zone, other processes queue the operation.
                guard let schedule = Schedule(rawValue: due.schedule), schedule.isKnown else { continue }
                let times = schedule.dueTimes(from: due.at, now: now, due.catchUp)
                try queue(due, for: times)
                let next = schedule.next(after: now, previous: due.at)
                // Operations may have been queued for earlier due times only, or for none.
                let last = schedule.dueTimes(from: due.at, now: now, .all(limit: 1)).last ?? due.at
                try transaction.run(
                    QueueSQL.advance,
                    [
                        Self.value(last), Self.value(next), .integer(transaction.number),
                        .integer(due.operation.id),
                    ]
                )
                try transaction.report(updated: due.operation.id, ["lastAt", "nextAt"], of: PeriodicOperation.self)
            }
        } while count >= 1000
    }

    /// Reads more due schedules. A schedule that cannot be read, such as one of a later program version, is left to
    /// other processes.
    ///
    /// - Returns: the number of rows read, and the id of the last one.
    private func readDueSchedules(after id: Int64, _ all: inout [Due]) throws -> (count: Int, last: Int64) {
        var (count, last) = (0, id)
        try transaction.rows(QueueSQL.selectDueSchedules, [Self.value(now), .integer(id)]) { row in
            (count, last) = (count + 1, try row.read(Int64.self, at: 0))
            do { all.append(try Due(row)) } catch let error as StrataError where error.code == .undecodable {}
        }
        return (count, last)
    }

    /// Queues an operation for each of these due times.
    private func queue(_ due: Due, for times: [Date]) throws {
        if times.isEmpty { return }
        let operation = due.operation
        if due.overlap == .skip,
            try transaction.integer(QueueSQL.selectScheduled, [.text(operation.name), .text(operation.pipeline)]) != nil
        {
            return
        }
        for time in times {
            let number = try queue(operation, QueueSQL.insertOperation)
            try recordRun(of: number, operation.name, dueAt: time)
        }
        try pruneRuns(of: operation.name)
    }

    static func value(_ date: Date?) -> StoredValue {
        date.map { .real($0.timeIntervalSinceReferenceDate) } ?? .null
    }
}
