/// The SQL statements of JSON Lines exports and imports.
///
/// An import keeps the names that its lines use in a temporary table, each with the id of the object in the store. For
/// an object of the lines, this id is the new one. For an existing object, the id is in `existing`. `line` is the line
/// of the object or, until the import reaches this line, the line that first refers to the object. The key of a line
/// without a name is its id, as a number, which differs from all texts.
enum LinesSQL {
    // MARK: Exports

    static func selectRows(_ info: EntityInfo) -> String {
        "SELECT \(info.sql.columnList) FROM \(info.sql.table) ORDER BY \"id\""
    }

    /// The ids of an object's members, in their order. Nil if a to-one column alone defines the members, because lines
    /// do not contain such relationships.
    static func selectMembers(_ relationship: ResolvedRelationship, _ schema: Schema) -> String? {
        switch relationship.storage {
        case .join(let join, let own, _, let place):
            return selectEnds(schema.entities[join].info, of: own, place: place)
        case .foreignKey(_, nil): return nil
        case .foreignKey(let column, let order?):
            let member = schema.entities[relationship.destination].info.sql
            // Members without a place come last.
            return """
                SELECT own."id" FROM \(member.table) AS own LEFT JOIN \(schema.entities[order].info.sql.table) AS place \
                ON place."left" = own.\(member.columns[column]) AND place."right" = own."id" \
                WHERE own.\(member.columns[column]) = ? ORDER BY place."left_place" IS NULL, place."left_place", own."id"
                """
        }
    }

    /// The ids of an object's members, of a relationship that the store records. Each side has a place for each member,
    /// whether the side is ordered or not.
    ///
    /// - Parameters:
    ///   - own: the column of the object.
    ///   - other: the column of the members.
    ///   - isOrdered: whether the places of the members on this side are in use.
    static func selectRecordedMembers(in table: String, own: String, other: String, isOrdered: Bool = true) -> String {
        let order = isOrdered ? "\"\(own)_place\", " : ""
        return "SELECT \"\(other)\" FROM \(table.quotedIdentifier) WHERE \"\(own)\" = ? "
            + "ORDER BY \(order)\"\(other)\""
    }

    /// The ids of an object's ordered members, of a one-to-many relationship that the store records.
    ///
    /// - Parameters:
    ///   - places: the table of the places.
    ///   - members: the table of the members.
    ///   - column: the members' column that refers to the object.
    static func selectRecordedPlaces(in places: String, of members: String, column: String) -> String {
        let column = column.quotedIdentifier
        // Members without a place come last.
        return """
            SELECT own."id" FROM \(members.quotedIdentifier) AS own LEFT JOIN \(places.quotedIdentifier) AS place \
            ON place."left" = own.\(column) AND place."right" = own."id" \
            WHERE own.\(column) = ? ORDER BY place."left_place" IS NULL, place."left_place", own."id"
            """
    }

    // MARK: Imports

    private static let ids = "temp.\"strata_import\""

    static let create = """
        CREATE TEMP TABLE "strata_import" ("entity" INTEGER NOT NULL, "key" NOT NULL, "id" INTEGER NOT NULL, \
        "line" INTEGER, "is_there" INTEGER NOT NULL, "property" TEXT, "number" INTEGER, "existing" INTEGER, \
        PRIMARY KEY ("entity", "key")) WITHOUT ROWID
        """
    static let drop = "DROP TABLE \(ids)"

    /// The existing objects of the store that lines update instead of creating new ones.
    static let createMatches = """
        CREATE TEMP TABLE "strata_matches" ("line" INTEGER PRIMARY KEY, "id" INTEGER NOT NULL UNIQUE)
        """
    static let dropMatches = "DROP TABLE temp.\"strata_matches\""
    static let insertMatch = "INSERT INTO temp.\"strata_matches\" (\"line\", \"id\") VALUES (?, ?)"
    static let selectMatch = "SELECT \"id\" FROM temp.\"strata_matches\" WHERE \"line\" = ?"
    static let selectMatchingLine = "SELECT \"line\" FROM temp.\"strata_matches\" WHERE \"id\" = ?"

    static func exists(_ info: EntityInfo) -> String { "SELECT 1 FROM \(info.sql.table) WHERE \"id\" = ?" }

    static let find = "SELECT \"id\", \"is_there\", \"line\" FROM \(ids) WHERE \"entity\" = ? AND \"key\" = ?"
    /// Inserts a name, unless it is known.
    static let insert = """
        INSERT INTO \(ids) ("entity", "key", "id", "line", "is_there", "property", "number") \
        VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT ("entity", "key") DO NOTHING
        """
    static let define = "UPDATE \(ids) SET \"is_there\" = 1, \"line\" = ? WHERE \"entity\" = ? AND \"key\" = ?"
    static let require = "UPDATE \(ids) SET \"line\" = ?, \"property\" = ? WHERE \"entity\" = ? AND \"key\" = ?"
    static let hasMissing = "SELECT EXISTS (SELECT 1 FROM \(ids) WHERE NOT \"is_there\")"
    /// The line of a new object, for an error. Reads all names.
    static let selectLine = "SELECT \"line\" FROM \(ids) WHERE \"id\" = ?"

    /// Finds existing objects of the store for names that no line defines.
    static func findExisting(_ info: EntityInfo) -> String {
        """
        UPDATE \(ids) AS mine SET "existing" = "number" WHERE NOT "is_there" AND "entity" = ?1 AND "number" < ?2 \
        AND EXISTS (SELECT 1 FROM \(info.sql.table) AS found WHERE found."id" = mine."number")
        """
    }

    /// Up to 20 names that neither a line nor the store defines.
    static let selectMissing = """
        SELECT "line", "property", "key" FROM \(ids) WHERE NOT "is_there" AND "existing" IS NULL AND "line" IS NOT NULL \
        ORDER BY "line", "id" LIMIT 20
        """

    /// An index of the names of existing objects by the ids that they have had so far.
    static let indexExisting = """
        CREATE INDEX temp."strata_import_existing" ON "strata_import" ("id", "existing") WHERE "existing" IS NOT NULL
        """

    /// Makes a column refer to existing objects of the store. The column may have the name of a column of `ids`.
    static func relate(_ info: EntityInfo, _ column: Int) -> String {
        let name = info.sql.columns[column]
        return """
            UPDATE \(info.sql.table) SET \(name) = (SELECT "strata_import"."existing" FROM \(ids) \
            WHERE "strata_import"."id" = \(info.sql.table).\(name) AND "strata_import"."existing" IS NOT NULL) \
            WHERE \(name) IN (SELECT "id" FROM \(ids) WHERE "existing" IS NOT NULL)
            """
    }

    /// Adds a member to a relationship. If the other side has already added the member, sets its place.
    static func insertMember(_ join: EntityInfo, place: Int?) -> String {
        let key = JoinRow.Column.ends.map { join.sql.columns[$0] }.joined(separator: ", ")
        let action =
            place.map {
                "UPDATE SET \(join.sql.columns[$0]) = excluded.\(join.sql.columns[$0]), \"_version\" = excluded.\"_version\""
            } ?? "NOTHING"
        return "\(join.sql.insert) ON CONFLICT (\(key)) DO \(action)"
    }

    /// The members of an object, in their order at this end.
    static func selectEnds(_ join: EntityInfo, of own: Int, place: Int?) -> String {
        let order = place.map { "\(join.sql.columns[$0]), " } ?? ""
        let other = join.sql.columns[1 - own]
        return "SELECT \(other) FROM \(join.sql.table) WHERE \(join.sql.columns[own]) = ? ORDER BY \(order)\(other)"
    }

    /// Deletes a member that existed before the import.
    static func deleteMember(_ join: EntityInfo, of own: Int) -> String {
        """
        DELETE FROM \(join.sql.table) WHERE \(join.sql.columns[own]) = ? AND \(join.sql.columns[1 - own]) = ? AND "id" < ? \
        RETURNING \(join.sql.columnList)
        """
    }

    /// An ordered member that does not refer to the object that lists it, and this object.
    static func selectStray(_ order: EntityInfo, _ member: EntityInfo, _ column: Int) -> String {
        """
        SELECT place."left", place."right" FROM \(order.sql.table) AS place WHERE place."id" >= ? AND NOT EXISTS \
        (SELECT 1 FROM \(member.sql.table) AS own WHERE own."id" = place."right" \
        AND own.\(member.sql.columns[column]) = place."left") LIMIT 1
        """
    }

    /// The ids of the rows from an id on, in ascending order.
    static func selectIDs(_ info: EntityInfo) -> String {
        "SELECT \"id\" FROM \(info.sql.table) WHERE \"id\" >= ? ORDER BY \"id\""
    }

    /// The objects at one end of the memberships from an id on.
    static func selectEnds(_ join: EntityInfo, _ column: Int) -> String {
        "SELECT DISTINCT \(join.sql.columns[column]) FROM \(join.sql.table) WHERE \"id\" >= ? ORDER BY 1"
    }
}
