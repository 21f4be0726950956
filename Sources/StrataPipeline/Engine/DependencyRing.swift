/// Looks for operations that wait for each other, as many steps at a time as somebody has time for.
struct RingSearch: Sendable {
    /// What has come of some steps.
    enum Result {
        /// These wait for each other. The search stays where it is; ``forgetWay()`` lets it look once more.
        case ring([Int64])
        /// Nothing that can be reached from where it began does.
        case none
        /// There are more steps to take.
        case unfinished
    }

    /// False while the way leads through it, true when nothing behind it leads back.
    private var isDone: [Int64: Bool] = [:]
    private var way: [(operation: Int64, rest: [Int64])] = []

    /// Begins at an operation, unless it was come by before.
    mutating func begin(at operation: Int64, _ prerequisites: (Int64) throws -> [Int64]) rethrows {
        guard isDone[operation] == nil else { return }
        let rest = try prerequisites(operation)
        isDone[operation] = false
        way.append((operation, rest))
    }

    /// Takes some steps.
    ///
    /// - Parameter steps: how many operations to come by at most; what is left of it afterwards.
    mutating func goOn(_ steps: inout Int, _ prerequisites: (Int64) throws -> [Int64]) rethrows -> Result {
        while let last = way.last {
            guard let next = last.rest.last else {
                isDone[last.operation] = true
                way.removeLast()
                continue
            }
            switch isDone[next] {
            case nil:
                guard steps > 0 else { return .unfinished }
                steps -= 1
                let rest = try prerequisites(next)
                way[way.count - 1].rest.removeLast()
                isDone[next] = false
                way.append((next, rest))
            case false?: return .ring(way.map(\.operation).suffix(from: { $0 == next }))
            case true?: way[way.count - 1].rest.removeLast()
            }
        }
        return .none
    }

    /// Has the way gone once more, since what lies on it has changed.
    ///
    /// - Returns: where it began.
    mutating func forgetWay() -> Int64? {
        defer { way = [] }
        for step in way { isDone[step.operation] = nil }
        return way.first?.operation
    }
}

/// Operations that wait for each other.
enum DependencyRing {
    /// A ring that can be reached from any of these operations; nil where there is none.
    ///
    /// - Complexity: O(operations and dependencies that are reached).
    static func find(from starts: some Sequence<Int64>, _ prerequisites: (Int64) throws -> [Int64]) rethrows -> [Int64]?
    {
        var search = RingSearch()
        var steps = Int.max
        for start in starts {
            try search.begin(at: start, prerequisites)
            if case .ring(let ring) = try search.goOn(&steps, prerequisites) { return ring }
        }
        return nil
    }

    static func error(_ ring: [Int64]) -> PipelineError {
        let names = (ring.suffix(1) + ring).map { String($0) }.joined(separator: " waits for ")
        return PipelineError(
            .dependencyCycle,
            "These operations would wait for each other for ever: \(names). Leave out one of the dependencies.",
            operations: ring
        )
    }
}

extension [Int64] {
    /// What there is from the first element on of which something is true.
    fileprivate func suffix(from isFirst: (Int64) -> Bool) -> [Int64] {
        firstIndex(where: isFirst).map { Array(self[$0...]) } ?? []
    }
}
