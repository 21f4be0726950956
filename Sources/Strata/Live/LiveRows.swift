/// What a live query finds at one moment: the values of its objects, in its order, and what has become of those before.
///
/// Isolation: a value, usable anywhere.
public struct LiveRows<Object: Model>: Sendable {
    /// The values of the objects, in the order of the query.
    public let rows: [Object.Row]
    /// What has happened since the element before; in the first one, everything has been inserted.
    public let difference: LiveDifference

    /// Neighbouring rows with the same key.
    public struct Section<Key: Sendable & Equatable>: Sendable {
        /// What they have in common.
        public let key: Key
        /// Their places among all rows.
        public let indices: Range<Int>
    }

    /// The rows in sections, a new one wherever the key is another than that of the row before. A query that sorts by the key first
    /// gives one section for each key.
    ///
    /// Complexity: O(rows).
    public func sections<Key: Sendable & Equatable>(by key: (Object.Row) -> Key) -> [Section<Key>] {
        sections(by: key, isSame: ==)
    }

    /// The same for keys that are values of attributes: a new section wherever the store has another value than in the row before. Texts are
    /// compared by the bytes of their UTF-8.
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
