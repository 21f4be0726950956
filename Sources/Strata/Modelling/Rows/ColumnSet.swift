/// A set of the columns of one model, by their index in the schema.
///
/// Complexity: all operations are O(1). Iteration is O(number of columns in the set). The set holds at most ``limit``
/// columns.
@_documentation(visibility: internal)
public struct ColumnSet: Sendable, Hashable {
    /// The maximum number of columns of a model.
    package static let limit = 128

    @usableFromInline var low: UInt64
    @usableFromInline var high: UInt64

    /// The empty set.
    @inlinable public init() {
        low = 0
        high = 0
    }

    /// Creates a set of one column.
    @inlinable public init(_ column: Int) {
        self.init()
        insert(column)
    }

    /// Creates a set of the first `count` columns.
    package init(first count: Int) {
        low = count >= 64 ? .max : (1 << UInt64(count)) - 1
        high = count <= 64 ? 0 : count >= 128 ? .max : (1 << UInt64(count - 64)) - 1
    }

    /// Whether the set has no columns.
    @inlinable public var isEmpty: Bool { low | high == 0 }
    /// The number of columns in the set.
    package var count: Int { low.nonzeroBitCount + high.nonzeroBitCount }

    /// Whether the set contains the column.
    @inlinable public func contains(_ column: Int) -> Bool {
        column < 64 ? low & (1 << UInt64(column)) != 0 : high & (1 << UInt64(column - 64)) != 0
    }

    /// Adds a column.
    @inlinable public mutating func insert(_ column: Int) {
        if column < 64 { low |= 1 << UInt64(column) } else { high |= 1 << UInt64(column - 64) }
    }

    /// Adds the columns of another set.
    package mutating func formUnion(_ other: ColumnSet) {
        low |= other.low
        high |= other.high
    }

    /// The columns that are in either set.
    package func union(_ other: ColumnSet) -> ColumnSet {
        var result = self
        result.formUnion(other)
        return result
    }

    /// The columns that are in both sets.
    package func intersection(_ other: ColumnSet) -> ColumnSet {
        var result = self
        result.low &= other.low
        result.high &= other.high
        return result
    }

    /// The columns that are not in the other set.
    package func subtracting(_ other: ColumnSet) -> ColumnSet {
        var result = self
        result.low &= ~other.low
        result.high &= ~other.high
        return result
    }
}

extension ColumnSet: Sequence {
    /// The columns in ascending order.
    public struct Iterator: IteratorProtocol {
        private var rest: ColumnSet

        init(_ columns: ColumnSet) { rest = columns }

        public mutating func next() -> Int? {
            if rest.low != 0 {
                let column = rest.low.trailingZeroBitCount
                rest.low &= rest.low - 1
                return column
            }
            guard rest.high != 0 else { return nil }
            let column = rest.high.trailingZeroBitCount
            rest.high &= rest.high - 1
            return column + 64
        }
    }

    public func makeIterator() -> Iterator { Iterator(self) }
}
