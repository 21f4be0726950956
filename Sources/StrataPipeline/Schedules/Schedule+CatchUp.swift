import Foundation

extension Schedule {
    /// The due times for which operations are queued, oldest first.
    ///
    /// - Parameters:
    ///   - first: the first due time that no operation was queued for. It is not later than `now`.
    ///   - now: the present.
    func dueTimes(from first: Date, now: Date, _ catchUp: CatchUp) -> [Date] {
        switch catchUp {
        case .one: return [first]
        case .none:
            let earliest = now.addingTimeInterval(-CatchUp.grace.seconds)
            return newest(1, from: first, through: now).filter { $0 >= earliest }
        case .all(let limit):
            // Another program may have stored any number.
            let bounded = min(max(limit, CatchUp.limits.lowerBound), CatchUp.limits.upperBound)
            return newest(bounded, from: first, through: now)
        }
    }

    /// The newest due times, oldest first.
    ///
    /// A schedule knows only later times. So the search looks back over spans that grow until one has enough times. If
    /// the times are so uneven that a span has far too many, the search narrows the span down again. The search runs
    /// inside the transaction of a pass, so it must be short for all schedules, such as each second of one month.
    ///
    /// - Complexity: O(limit · log of the time from `first` to `end`).
    private func newest(_ limit: Int, from first: Date, through end: Date) -> [Date] {
        guard let second = next(after: first, previous: first), second <= end else { return [first] }
        var span = 0.001 * Double(limit)
        // A start with too many times after it, and the last start with too few.
        var early: Date?
        var late = end
        while true {
            let start = max(first, early.map { Self.middle($0, late) } ?? end.addingTimeInterval(-span))
            guard let times = allTimes(from: start, first: first, through: end, limit: 8 * limit) else {
                early = start
                continue
            }
            if start == first || times.count >= limit { return Array(times.suffix(limit)) }
            late = start
            span *= 4
        }
    }

    /// The due times after a start, or from the first due time on if that is the start.
    ///
    /// - Returns: nil if there are more than `limit`.
    private func allTimes(from start: Date, first: Date, through end: Date, limit: Int) -> [Date]? {
        var times = start == first ? [first] : []
        var last = start
        while let time = next(after: last, previous: first), time <= end {
            if times.count == limit { return nil }
            times.append(time)
            last = time
        }
        return times
    }

    private static func middle(_ early: Date, _ late: Date) -> Date {
        early.addingTimeInterval(late.timeIntervalSince(early) / 2)
    }
}
