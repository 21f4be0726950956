/// The sizes and counts of a store at one moment.
public struct StoreStatistics: Sendable, Hashable {
    /// The table of a model, or of the members of a to-many relationship.
    public struct TableStatistics: Sendable, Hashable {
        /// The name of the model; for a relationship, the table and the property: `Article.tags`.
        public let subject: String
        /// The name of the table in the file.
        public let name: String
        /// The number of rows.
        public let rowCount: Int
        /// The size of the rows in bytes, without the indexes; nil if the system's SQLite does not measure sizes.
        public let size: Int?
        /// The indexes of the table.
        public let indexes: [IndexStatistics]

        /// The size of the rows and the indexes in bytes; nil if the system's SQLite does not measure sizes.
        public var totalSize: Int? { size.map { indexes.reduce($0) { $0 + ($1.size ?? 0) } } }
    }

    /// An index of a table.
    public struct IndexStatistics: Sendable, Hashable {
        /// The name of the index in the file. A full-text index has the name of its search table.
        public let name: String
        /// The size in bytes; nil if the system's SQLite does not measure sizes.
        public let size: Int?
    }

    /// The recorded commits.
    public struct HistoryStatistics: Sendable, Hashable {
        /// The number of commits that the history contains, including the newest one.
        public let commitCount: Int
        /// The size of the commits' changes in bytes.
        public let size: Int
    }

    /// The size of a page in bytes.
    public let pageSize: Int
    /// The number of pages, including the free ones.
    public let pageCount: Int
    /// The number of free pages. Commits use them again, and ``ContextStack/compact(progress:)`` returns them.
    public let freePageCount: Int
    /// Whether ``ContextStack/compact(progress:)`` returns the free pages in portions. Otherwise its first call writes
    /// the whole file again.
    public let compactsInPortions: Bool
    /// The size in bytes of the journal (`-wal`) beside the file, which holds the newest commits.
    public let journalSize: Int
    /// The recorded commits.
    public let history: HistoryStatistics
    /// The size in bytes of attributes whose bytes are stored outside of the row (`ExternalData`).
    public let externalSize: Int
    /// The tables of the models, sorted by name, and then those of relationships.
    public let tables: [TableStatistics]

    /// The size of the file in bytes, with the commits that are still in the journal.
    public var fileSize: Int { pageCount * pageSize }
    /// The size of the free pages in bytes.
    public var freeSize: Int { freePageCount * pageSize }

    /// The table of a model; nil if the stack does not contain the model.
    public func table<Object: Model>(of model: Object.Type) -> TableStatistics? {
        let name = UTF8Text(model._$schema.name)
        return tables.first { UTF8Text($0.subject) == name }
    }
}
