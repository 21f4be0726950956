/// Numbers in ascending order, stored as runs of consecutive numbers. Rows that are inserted together have consecutive
/// ids.
package struct NumberRuns: Sendable, Hashable {
    package private(set) var runs: [ClosedRange<Int64>] = []

    init() {}

    /// Creates runs from ascending numbers.
    ///
    /// - Precondition: the numbers ascend strictly.
    /// - Complexity: O(1) if they form one run, otherwise O(numbers).
    package init(ascending numbers: [Int64]) {
        guard let first = numbers.first, let last = numbers.last else { return }
        if last - first == Int64(numbers.count - 1) {
            runs = [first...last]
        } else {
            for number in numbers { append(number) }
        }
    }

    /// Creates runs from numbers in any order. It omits numbers that are not ids, under which raw SQL may have inserted
    /// rows.
    ///
    /// - Complexity: O(n) if the numbers ascend, otherwise O(n log n).
    package init(_ numbers: [Int64]) {
        var last: Int64 = 0
        for number in numbers.sorted() where number > last && number < 1 << 48 {
            append(number)
            last = number
        }
    }

    init(_ numbers: some Sequence<Int64>) { self.init(Array(numbers)) }

    package var isEmpty: Bool { runs.isEmpty }

    /// The count of the numbers. Complexity: O(runs).
    var count: Int { runs.reduce(0) { $0 + $1.count } }

    /// Adds a number that is greater than all others.
    mutating func append(_ number: Int64) { append(number...number) }

    /// Adds a run that comes after all others.
    mutating func append(_ run: ClosedRange<Int64>) {
        if let last = runs.last, last.upperBound == run.lowerBound - 1 {
            runs[runs.count - 1] = last.lowerBound...run.upperBound
        } else {
            runs.append(run)
        }
    }

    /// Whether a number is in one of the runs. Complexity: O(log runs).
    func contains(_ number: Int64) -> Bool {
        var (low, high) = (0, runs.count)
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].upperBound < number { low = middle + 1 } else { high = middle }
        }
        return low < runs.count && runs[low].contains(number)
    }

    /// The numbers that are not in another set. Complexity: O(runs of both).
    func subtracting(_ other: NumberRuns) -> NumberRuns {
        if other.isEmpty { return self }
        var result = NumberRuns()
        var rest = other.runs[...]
        for run in runs {
            rest = rest.drop { $0.upperBound < run.lowerBound }
            var next = run.lowerBound
            for taken in rest {
                if taken.lowerBound > run.upperBound { break }
                if taken.lowerBound > next { result.append(next...(taken.lowerBound - 1)) }
                next = Swift.max(next, taken.upperBound + 1)
            }
            if next <= run.upperBound { result.append(next...run.upperBound) }
        }
        return result
    }

    /// The numbers of both sets. Complexity: O(runs).
    func union(_ other: NumberRuns) -> NumberRuns {
        if isEmpty { return other }
        if other.isEmpty { return self }
        var result = NumberRuns()
        for run in (runs + other.runs).sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = result.runs.last, run.lowerBound <= last.upperBound + 1 {
                let upper = Swift.max(last.upperBound, run.upperBound)
                result.runs[result.runs.count - 1] = last.lowerBound...upper
            } else {
                result.runs.append(run)
            }
        }
        return result
    }
}

extension NumberRuns: Sequence {
    package func makeIterator() -> FlattenSequence<[ClosedRange<Int64>]>.Iterator { runs.joined().makeIterator() }
}
