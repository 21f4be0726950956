import Foundation

/// A commit as the history has recorded it, for readers who look into a store.
package struct RecordedCommit: Sendable {
    package enum Changes: Sendable {
        /// The changed rows, by table.
        case known([ChangedTable])
        /// The commit is a migration, or the store did not keep a history.
        case unknown
        /// The record has more bytes than the reader accepts.
        case tooLarge(size: Int)
        /// The record cannot be decoded.
        case damaged
    }

    /// The greatest number of characters of an author that are read.
    package static let greatestAuthor = 1000

    /// The number of the commit.
    package let sequence: Int64
    /// Nil if the store contains an invalid time.
    package let time: Date?
    package let author: String?
    package let changes: Changes

    /// - Parameter values: the values of ``select(before:limit:largest:)``.
    /// - Returns: nil for values that no such row has.
    init?(_ values: [StoredValue]) {
        guard values.count == 5, case .integer(let sequence) = values[0] else { return nil }
        self.sequence = sequence
        if case .real(let seconds) = values[1] {
            time = Date(timeIntervalSinceReferenceDate: seconds)
        } else {
            time = nil
        }
        if case .text(let text) = values[2] { author = text } else { author = nil }
        switch (values[3], values[4]) {
        case (.integer, .blob(let bytes)):
            if let decoded = CommitChanges(encoded: bytes) {
                changes = .known(decoded.changedTables)
            } else {
                changes = .damaged
            }
        case (.integer(let size), .null): changes = .tooLarge(size: Int(clamping: size))
        case (.null, .null): changes = .unknown
        default: changes = .damaged
        }
    }

    /// The commits with smaller numbers, newest first.
    ///
    /// - Parameter largest: the greatest number of bytes of a record that is read.
    package static func select(before sequence: Int64, limit: Int, largest: Int) -> SQL {
        """
        SELECT \(columns(largest: largest)) FROM "strata_history" WHERE "sequence" > 0 AND "sequence" < \(sequence) \
        ORDER BY "sequence" DESC LIMIT \(limit)
        """
    }

    /// The commit with a number.
    package static func select(_ sequence: Int64, largest: Int) -> SQL {
        "SELECT \(columns(largest: largest)) FROM \"strata_history\" WHERE \"sequence\" = \(sequence)"
    }

    private static func columns(largest: Int) -> SQL {
        """
        "sequence", "time", substr("author", 1, \(greatestAuthor)), length("changes"), \
        CASE WHEN length("changes") <= \(largest) THEN "changes" END
        """
    }
}
