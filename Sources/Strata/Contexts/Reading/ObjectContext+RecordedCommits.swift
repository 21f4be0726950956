extension ObjectContext {
    /// The recorded commits with smaller numbers than the given one, newest first.
    ///
    /// - Parameters:
    ///   - sequence: nil to begin with the newest commit.
    ///   - limit: the greatest number of commits.
    ///   - largest: the greatest number of bytes of a commit's changes. Larger ones are not read.
    /// - Throws: errors of the store.
    /// - Complexity: O(limit + their changes).
    package func recordedCommits(
        before sequence: Int64? = nil,
        limit: Int,
        largest: Int
    ) throws -> [RecordedCommit] {
        try rows(RecordedCommit.select(before: sequence ?? .max, limit: limit, largest: largest))
            .compactMap { RecordedCommit($0.values) }
    }

    /// A recorded commit; nil if the history does not contain it.
    ///
    /// - Parameter largest: as in ``recordedCommits(before:limit:largest:)``.
    package func recordedCommit(_ sequence: Int64, largest: Int) throws -> RecordedCommit? {
        guard sequence > 0 else { return nil }
        return try rows(RecordedCommit.select(sequence, largest: largest)).first.flatMap { RecordedCommit($0.values) }
    }
}
