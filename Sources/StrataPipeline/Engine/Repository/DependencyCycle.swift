/// The search for operations that wait for each other.
enum DependencyCycle {
    /// A cycle that can be reached from any of these operations; nil if the search does not find one.
    ///
    /// - Complexity: O(operations and dependencies that are reached).
    static func find(from starts: some Sequence<Int64>, _ prerequisites: (Int64) throws -> [Int64]) rethrows -> [Int64]?
    {
        /// False while an operation is on the current path; true when no cycle leads through it.
        var isDone: [Int64: Bool] = [:]
        var way: [(operation: Int64, rest: [Int64])] = []
        for start in starts where isDone[start] == nil {
            isDone[start] = false
            way.append((start, try prerequisites(start)))
            while let last = way.last {
                guard let next = last.rest.last else {
                    isDone[last.operation] = true
                    way.removeLast()
                    continue
                }
                way[way.count - 1].rest.removeLast()
                switch isDone[next] {
                case nil:
                    isDone[next] = false
                    way.append((next, try prerequisites(next)))
                case false?:
                    return way.map(\.operation).suffix(from: { $0 == next })
                case true?:
                    continue
                }
            }
        }
        return nil
    }

    static func error(_ cycle: [Int64]) -> PipelineError {
        var names = (cycle.suffix(1) + cycle).prefix(11).map { String($0) }.joined(separator: " waits for ")
        if cycle.count > 10 { names += ", and so on, through \(cycle.count) operations" }
        return PipelineError(
            .dependencyCycle,
            "These operations would wait for each other forever: \(names). Remove one of the dependencies.",
            operations: cycle
        )
    }
}

extension [Int64] {
    /// The elements from the first one that satisfies a condition.
    fileprivate func suffix(from isFirst: (Int64) -> Bool) -> [Int64] {
        firstIndex(where: isFirst).map { Array(self[$0...]) } ?? []
    }
}
