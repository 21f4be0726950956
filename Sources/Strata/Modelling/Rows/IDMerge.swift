/// How two ascending arrays of ids become one.
///
/// It consists of runs, because generic code copies many rows at once much faster than one after another.
struct IDMerge {
    /// The next part of the result.
    enum Step {
        /// These elements of the first array.
        case first(Range<Int>)
        /// These elements of the second array.
        case second(Range<Int>)
        /// An id that both arrays have, by its positions.
        case both(first: Int, second: Int)
    }

    /// The ids of both arrays, ascending. An id that both have occurs once.
    private(set) var ids: [Int64] = []
    private(set) var steps: [Step] = []
    private(set) var hasCommonIDs = false

    /// - Precondition: the ids of each array ascend strictly.
    /// - Complexity: O(first.count + second.count).
    init(_ first: [Int64], _ second: [Int64]) {
        ids.reserveCapacity(first.count + second.count)
        var (left, right) = (0, 0)
        while left < first.count, right < second.count {
            if first[left] == second[right] {
                ids.append(first[left])
                steps.append(.both(first: left, second: right))
                hasCommonIDs = true
                left += 1
                right += 1
            } else if first[left] < second[right] {
                let end = Self.end(of: first, from: left, below: second[right])
                add(.first(left..<end), first[left..<end])
                left = end
            } else {
                let end = Self.end(of: second, from: right, below: first[left])
                add(.second(right..<end), second[right..<end])
                right = end
            }
        }
        if left < first.count { add(.first(left..<first.count), first[left...]) }
        if right < second.count { add(.second(right..<second.count), second[right...]) }
    }

    private mutating func add(_ step: Step, _ ids: ArraySlice<Int64>) {
        steps.append(step)
        self.ids += ids
    }

    /// The end of the run of elements below a limit.
    private static func end(of ids: [Int64], from start: Int, below limit: Int64) -> Int {
        ids[start...].firstIndex { $0 >= limit } ?? ids.count
    }
}
