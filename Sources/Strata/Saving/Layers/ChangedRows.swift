/// Changed rows by entity, some of which may not have been read: the rows of a commit, or of an event in the log.
protocol ChangedRows {
    /// The changed rows that were read, by entity.
    var rows: [Int: any AnyRowChanges] { get }
    /// Changed rows that may be missing in `rows`, by entity; nil if they are not known.
    var unread: [Int: IDRanges]? { get }
}

extension ChangedRows {
    /// Whether some rows of these entities may have changed.
    ///
    /// - Complexity: O(entities).
    func concerns(_ entities: Set<Int>) -> Bool {
        guard let unread else { return true }
        return entities.contains { rows[$0] != nil || unread[$0] != nil }
    }
}
