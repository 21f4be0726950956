/// The statements of exports and imports as lines.
///
/// An import keeps the ids that its lines name in a temporary table, each with the id that the object has in the store: the new one
/// of an object of the lines, or, in `existing`, that of an object which was there. `line` is where the object stands or, before it
/// came, where it was asked for first.
enum LinesSQL {
    // MARK: Exports

    static func selectRows(_ info: EntityInfo) -> String {
        "SELECT \(info.sql.columnList) FROM \(info.sql.table) ORDER BY \"id\""
    }

    /// The ids of an object's members, in their order; nil where they follow from a to-one column alone, and no line has them.
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

    // MARK: Imports

    private static let ids = "temp.\"strata_import\""

    static let create = """
        CREATE TEMP TABLE "strata_import" ("id" INTEGER PRIMARY KEY, "entity" INTEGER NOT NULL, "key" TEXT, "line" INTEGER, \
        "is_there" INTEGER NOT NULL, "property" TEXT, "number" INTEGER, "existing" INTEGER, UNIQUE ("entity", "key"))
        """
    static let drop = "DROP TABLE \(ids)"

    /// Which objects of the store the lines are about that are not to become new ones.
    static let createMatches = """
        CREATE TEMP TABLE "strata_matches" ("line" INTEGER PRIMARY KEY, "id" INTEGER NOT NULL UNIQUE)
        """
    static let dropMatches = "DROP TABLE temp.\"strata_matches\""
    static let insertMatch = "INSERT INTO temp.\"strata_matches\" (\"line\", \"id\") VALUES (?, ?)"
    static let selectMatch = "SELECT \"id\" FROM temp.\"strata_matches\" WHERE \"line\" = ?"
    static let selectMatchingLine = "SELECT \"line\" FROM temp.\"strata_matches\" WHERE \"id\" = ?"

    static func exists(_ info: EntityInfo) -> String { "SELECT 1 FROM \(info.sql.table) WHERE \"id\" = ?" }

    static let find = "SELECT \"id\", \"is_there\", \"line\" FROM \(ids) WHERE \"entity\" = ? AND \"key\" = ?"
    static let insert = """
        INSERT INTO \(ids) ("id", "entity", "key", "line", "is_there", "property", "number") VALUES (?, ?, ?, ?, ?, ?, ?)
        """
    static let define = "UPDATE \(ids) SET \"is_there\" = 1, \"line\" = ? WHERE \"id\" = ?"
    static let require = "UPDATE \(ids) SET \"line\" = ?, \"property\" = ? WHERE \"id\" = ?"
    static let hasMissing = "SELECT EXISTS (SELECT 1 FROM \(ids) WHERE NOT \"is_there\")"
    static let selectLine = "SELECT \"line\" FROM \(ids) WHERE \"id\" = ?"

    /// Finds the objects that the lines name and do not have among those that were in the store before.
    static func findExisting(_ info: EntityInfo) -> String {
        """
        UPDATE \(ids) AS mine SET "existing" = "number" WHERE NOT "is_there" AND "entity" = ?1 AND "number" < ?2 \
        AND EXISTS (SELECT 1 FROM \(info.sql.table) AS found WHERE found."id" = mine."number")
        """
    }

    /// Those that are nowhere; a few of them.
    static let selectMissing = """
        SELECT "line", "property", "key" FROM \(ids) WHERE NOT "is_there" AND "existing" IS NULL AND "line" IS NOT NULL \
        ORDER BY "line" LIMIT 20
        """

    /// Lets a column lead to the objects that were in the store before.
    static func relate(_ info: EntityInfo, _ column: Int) -> String {
        let name = info.sql.columns[column]
        return """
            UPDATE \(info.sql.table) SET \(name) = (SELECT "existing" FROM \(ids) AS found WHERE found."id" = \(name)) \
            WHERE \(name) IN (SELECT "id" FROM \(ids) WHERE "existing" IS NOT NULL)
            """
    }

    /// Adds a member to a relationship, or gives one that came from the other side its place.
    static func insertMember(_ join: EntityInfo, place: Int?) -> String {
        let key = JoinRow.Column.ends.map { join.sql.columns[$0] }.joined(separator: ", ")
        let action =
            place.map {
                "UPDATE SET \(join.sql.columns[$0]) = excluded.\(join.sql.columns[$0]), \"_version\" = excluded.\"_version\""
            } ?? "NOTHING"
        return "\(join.sql.insert) ON CONFLICT (\(key)) DO \(action)"
    }

    /// The other ends of an object's members, in the order that they have at this one.
    static func selectEnds(_ join: EntityInfo, of own: Int, place: Int?) -> String {
        let order = place.map { "\(join.sql.columns[$0]), " } ?? ""
        let other = join.sql.columns[1 - own]
        return "SELECT \(other) FROM \(join.sql.table) WHERE \(join.sql.columns[own]) = ? ORDER BY \(order)\(other)"
    }

    /// Takes away a member that was there before.
    static func deleteMember(_ join: EntityInfo, of own: Int) -> String {
        """
        DELETE FROM \(join.sql.table) WHERE \(join.sql.columns[own]) = ? AND \(join.sql.columns[1 - own]) = ? AND "id" < ? \
        RETURNING \(join.sql.columnList)
        """
    }

    /// An ordered member that does not lead to the object which lists it, and that object.
    static func selectStray(_ order: EntityInfo, _ member: EntityInfo, _ column: Int) -> String {
        """
        SELECT place."left", place."right" FROM \(order.sql.table) AS place WHERE place."id" >= ? AND NOT EXISTS \
        (SELECT 1 FROM \(member.sql.table) AS own WHERE own."id" = place."right" \
        AND own.\(member.sql.columns[column]) = place."left") LIMIT 1
        """
    }

    /// The rows from an id on, in the order of their ids.
    static func selectIDs(_ info: EntityInfo) -> String {
        "SELECT \"id\" FROM \(info.sql.table) WHERE \"id\" >= ? ORDER BY \"id\""
    }

    /// The objects at one end of the members from an id on.
    static func selectEnds(_ join: EntityInfo, _ column: Int) -> String {
        "SELECT DISTINCT \(join.sql.columns[column]) FROM \(join.sql.table) WHERE \"id\" >= ? ORDER BY 1"
    }

    /// Gives back its parameters as a row of the table.
    static func makeRow(_ info: EntityInfo) -> String {
        "SELECT " + (["\"id\""] + info.sql.columns).map { "? AS \($0)" }.joined(separator: ", ")
    }
}
