import Foundation

/// What a working copy records about its home: one row in a table that only working copies have.
struct CopyRecord: Equatable {
    /// See ``StoreHome/name``.
    let home: String
    /// The last transaction of the home that the copy contains.
    let position: HomePosition

    static let tableName = "strata_home"
    /// The position of a copy whose rows differ from those of the home. It is made again when it is opened.
    static let damaged = HomePosition(number: -1, id: HomePosition.start.id)

    private static let table = """
        CREATE TABLE "strata_home" ("id" INTEGER PRIMARY KEY CHECK ("id" = 1), "home" TEXT NOT NULL, \
        "number" INTEGER NOT NULL, "transaction" TEXT NOT NULL, "node" TEXT, \
        "generation" INTEGER NOT NULL DEFAULT 0)
        """
    private static let insert = """
        INSERT INTO "strata_home" ("id", "home", "number", "transaction", "generation") VALUES (1, ?, ?, ?, ?)
        """
    private static let update = "UPDATE \"strata_home\" SET \"number\" = ?, \"transaction\" = ? WHERE \"id\" = 1"
    private static let updateFrom = update + " AND \"number\" = ? AND \"transaction\" = ?"
    private static let hasTable = "SELECT 1 FROM sqlite_schema WHERE \"name\" = 'strata_home'"
    private static let select = "SELECT \"home\", \"number\", \"transaction\" FROM \"strata_home\" WHERE \"id\" = 1"
    // Copies that were made before this column existed do not have it.
    private static let hasNode = "SELECT 1 FROM pragma_table_info('strata_home') WHERE \"name\" = 'node'"
    private static let selectNode = "SELECT \"node\" FROM \"strata_home\" WHERE \"id\" = 1"
    private static let hasGeneration = "SELECT 1 FROM pragma_table_info('strata_home') WHERE \"name\" = 'generation'"
    private static let selectGeneration = "SELECT \"generation\" FROM \"strata_home\" WHERE \"id\" = 1"
    private static let updateGeneration = "UPDATE \"strata_home\" SET \"generation\" = ? WHERE \"id\" = 1"
    private static let updateNode = "UPDATE \"strata_home\" SET \"node\" = ? WHERE \"id\" = 1"

    /// Creates the table with its row.
    ///
    /// - Parameter generation: the ``HomeDescription/generation`` of the copy.
    func create(on connection: Connection, generation: Int64 = 0) throws {
        try connection.execute(Self.table)
        try connection.execute(
            Self.insert,
            [.text(home), .integer(position.number), .text(position.id.uuidString), .integer(generation)]
        )
    }

    /// Makes the table a part of the recorded layout of an existing store. Otherwise, the table would count as a change
    /// by another program.
    static func addToLayout(on connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO "strata_layout" ("name", "sql") \
            SELECT "name", "sql" FROM sqlite_schema WHERE "name" = 'strata_home'
            """
        )
    }

    /// Removes the table, and makes the file a store without a home.
    static func remove(on connection: Connection) throws {
        try connection.execute("DROP TABLE \"strata_home\"")
        try connection.execute("DELETE FROM \"strata_layout\" WHERE \"name\" = 'strata_home'")
    }

    /// Whether the database is a working copy.
    static func exists(on connection: Connection) throws -> Bool { try connection.integer(hasTable) != nil }

    /// Reads the row of a working copy.
    ///
    /// - Throws: `damagedStore` if the row is missing or invalid.
    static func read(on connection: Connection) throws -> CopyRecord {
        let row = try connection.row(select)
        guard row.count == 3, case .text(let home) = row[0], case .integer(let number) = row[1],
            case .text(let text) = row[2], let id = UUID(uuidString: text)
        else { throw StoreIdentity.damaged.naming(connection.path) }
        return CopyRecord(home: home, position: HomePosition(number: number, id: id))
    }

    /// Records that the copy contains a transaction. Called in the SQLite transaction that writes its rows.
    static func move(to position: HomePosition, on connection: Connection) throws {
        try connection.execute(update, [.integer(position.number), .text(position.id.uuidString)])
    }

    /// Records that the copy contains a transaction, if it contains exactly those up to another one. Called in the
    /// SQLite transaction that writes the rows.
    ///
    /// - Returns: false if the record has another position. Then nothing is changed.
    static func move(from previous: HomePosition, to position: HomePosition, on connection: Connection) throws -> Bool {
        let statement = try connection.statement(updateFrom)
        try statement.bind([
            .integer(position.number), .text(position.id.uuidString), .integer(previous.number),
            .text(previous.id.uuidString),
        ])
        return try statement.runBound() == 1
    }

    // MARK: The generation

    /// The ``HomeDescription/generation`` of the copy; nil if the copy was made before copies recorded it.
    static func generation(on connection: Connection) throws -> Int64? {
        guard try connection.integer(hasGeneration) != nil else { return nil }
        return try connection.integer(selectGeneration)
    }

    /// Records the generation. Called in the SQLite transaction that changes the tables.
    static func setGeneration(_ generation: Int64, on connection: Connection) throws {
        try connection.execute(updateGeneration, [.integer(generation)])
    }

    // MARK: The node

    /// The name under which the node of the copy reports to the home; nil if the copy does not record it.
    static func node(on connection: Connection) throws -> String? {
        guard try connection.integer(hasNode) != nil, case .text(let name)? = try connection.value(selectNode) else {
            return nil
        }
        return name
    }

    /// Records the name of the node, unless the copy has this name already. Called outside of a transaction.
    static func setNode(_ name: String, on connection: Connection) throws {
        guard try connection.integer(hasNode) != nil else { return }
        if let found = try node(on: connection), found.hasSameBytes(as: name) { return }
        try connection.execute(updateNode, [.text(name)])
    }
}
