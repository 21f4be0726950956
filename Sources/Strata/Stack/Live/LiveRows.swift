/// The results of a live query at one moment: the values of its objects, in order, and the difference from the previous
/// element.
///
/// Isolation: a value, usable anywhere.
public struct LiveRows<Object: Model>: Sendable {
    /// The values of the objects, in the order of the query.
    public let rows: [Object.Row]
    /// The difference from the previous element; in the first element, all rows are inserted.
    public let difference: LiveDifference

    /// Adjacent rows with the same key.
    public struct Section<Key: Sendable & Equatable>: Sendable {
        /// The common key of the rows.
        public let key: Key
        /// The positions of the rows among all rows.
        public let indices: Range<Int>
    }

    /// The rows in sections. A new section begins whenever the key differs from the key of the previous row. A query
    /// that sorts by the key first produces one section for each key.
    ///
    /// Complexity: O(rows).
    public func sections<Key: Sendable & Equatable>(by key: (Object.Row) -> Key) -> [Section<Key>] {
        sections(by: key, isSame: ==)
    }

    /// The rows in sections, for keys that are values of attributes. A new section begins whenever the stored value
    /// differs from that of the previous row. Texts are compared by their UTF-8 bytes.
    ///
    /// Complexity: O(rows).
    public func sections<Key: AttributeValue>(by key: (Object.Row) -> Key) -> [Section<Key>] {
        sections(by: key, isSame: Key.isSame)
    }

    private func sections<Key>(by key: (Object.Row) -> Key, isSame: (Key, Key) -> Bool) -> [Section<Key>] {
        var sections: [Section<Key>] = []
        for (index, row) in rows.enumerated() {
            let key = key(row)
            if let last = sections.last, isSame(last.key, key) {
                sections[sections.count - 1] = Section(key: key, indices: last.indices.lowerBound..<(index + 1))
            } else {
                sections.append(Section(key: key, indices: index..<(index + 1)))
            }
        }
        return sections
    }
}

extension LiveRows: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { rows.count }
    public subscript(position: Int) -> Object.Row { rows[position] }
}
