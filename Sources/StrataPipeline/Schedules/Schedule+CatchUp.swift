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
            let limit = min(max(limit, CatchUp.limits.lowerBound), CatchUp.limits.upperBound)
            return newest(limit, from: first, through: now)
        }
    }

    /// The newest due times, oldest first.
    ///
    /// A schedule knows only later times. So the search looks back over spans that grow until one has enough times.
    ///
    /// - Complexity: O(limit) for times at regular distances, and O(log of the span).
    private func newest(_ limit: Int, from first: Date, through end: Date) -> [Date] {
        guard let second = next(after: first, previous: first), second <= end else { return [first] }
        var span = 0.001 * Double(limit)
        while true {
            let start = end.addingTimeInterval(-span)
            let isWhole = start <= first
            var times = isWhole ? [first] : []
            var last = isWhole ? first : start
            while let time = next(after: last, previous: first), time <= end {
                times.append(time)
                last = time
            }
            if isWhole || times.count >= limit { return Array(times.suffix(limit)) }
            span *= 4
        }
    }
}
