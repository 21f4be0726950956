/// The SQL statements of batches, which change many rows at once.
///
/// A temporary table for each entity gathers the ids of the affected rows, with the round of cascades in which each row
/// was found.
enum BatchSQL {
    static func idTable(_ entity: Int) -> String { "temp.\"strata_batch_\(entity)\"" }

    static func createIDs(_ entity: Int) -> String {
        "CREATE TEMP TABLE \"strata_batch_\(entity)\" (\"id\" INTEGER PRIMARY KEY, \"round\" INTEGER NOT NULL)"
    }

    /// Indexes the rounds, so that finding the rows of one round does not scan the whole table.
    static func indexRounds(_ entity: Int) -> String {
        "CREATE INDEX temp.\"strata_batch_\(entity)_rounds\" ON \"strata_batch_\(entity)\" (\"round\")"
    }

    static func dropIDs(_ entity: Int) -> String { "DROP TABLE \(idTable(entity))" }

    static func insertIDs(_ table: String, _ select: String) -> String {
        "INSERT OR IGNORE INTO \(table) SELECT *, 0 FROM (\(select))"
    }

    /// The first and the last id of the next portion after an id.
    static func selectPortion(_ entity: Int) -> String {
        """
        SELECT min("id"), max("id") FROM (SELECT "id" FROM \(idTable(entity)) WHERE "id" > ? ORDER BY "id" LIMIT ?)
        """
    }

    private static func ids(_ entity: Int) -> String { "SELECT \"id\" FROM \(idTable(entity))" }

    /// The gathered ids in ascending order, from a first to a last id.
    static func selectIDs(_ entity: Int) -> String { "\(ids(entity)) WHERE \"id\" BETWEEN ? AND ? ORDER BY \"id\"" }

    /// Updates the gathered rows with positive ids. Raw SQL may have inserted rows under other integers, which are not
    /// ids.
    ///
    /// The statement returns no rows: SQLite would store them all before it returned the first one, which takes longer
    /// than the update itself.
    static func update(_ info: EntityInfo, _ assignments: [String], version: String) -> String {
        """
        UPDATE \(info.sql.table) SET \(assignments.joined(separator: ", ")), "_version" = \(version) \
        WHERE "id" IN (\(ids(info.index))) AND "id" > 0
        """
    }

    /// The gathered rows from a first to a last id, with all columns.
    static func selectRows(_ info: EntityInfo) -> String {
        """
        SELECT \(info.sql.columnList) FROM \(info.sql.table) WHERE "id" IN (\(ids(info.index)) WHERE "id" BETWEEN ? AND ?)
        """
    }

    /// One gathered row in which one of these columns holds a value of another storage class than its type.
    static func selectMistyped(_ info: EntityInfo, _ columns: ColumnSet) -> String {
        let conditions = columns.map { column in
            let type = "'\(info.columns[column].type.rawValue.lowercased())'"
            let types = info.columns[column].isOptional ? "\(type), 'null'" : type
            return "typeof(\(info.sql.columns[column])) NOT IN (\(types))"
        }
        return """
            SELECT "id" FROM \(info.sql.table) WHERE "id" IN (\(ids(info.index))) \
            AND (\(conditions.joined(separator: " OR "))) LIMIT 1
            """
    }

    /// Up to 20 gathered rows with a floating-point number in an integer column.
    static func selectOversized(_ info: EntityInfo, _ column: Int) -> String {
        """
        SELECT "id", \(info.sql.columns[column]) FROM \(info.sql.table) WHERE "id" IN (\(ids(info.index))) \
        AND typeof(\(info.sql.columns[column])) = 'real' LIMIT 20
        """
    }

    /// The gathered rows with their values of a column.
    static func selectGathered(_ info: EntityInfo, _ column: Int) -> String {
        "SELECT \"id\", \(info.sql.columns[column]) FROM \(info.sql.table) WHERE \"id\" IN (\(ids(info.index)))"
    }

    static func upsert(_ info: EntityInfo, by unique: [Int], setting columns: [Int]) -> String {
        let names = info.sql.columns
        let key = unique.map { names[$0] }.joined(separator: ", ")
        let present = info.uniqueIndexes.first { $0.columns == unique }?.present.map { names[$0] }
        let assignments = columns.map { "\(names[$0]) = excluded.\(names[$0]), " }.joined()
        return info.sql.insert
            + " ON CONFLICT (\(key))\(SchemaSQL.condition(present: present)) DO UPDATE SET \(assignments)\"_version\" = excluded.\"_version\" RETURNING \"id\""
    }

    /// Up to 20 rows with a dangling reference, each with its reference.
    static func selectDangling(_ info: EntityInfo, _ column: Int, _ destination: EntityInfo) -> String {
        let reference = info.sql.columns[column]
        return """
            SELECT "id", \(reference) FROM \(info.sql.table) AS own WHERE "id" BETWEEN ? AND ? AND \(reference) IS NOT NULL \
            AND NOT EXISTS (SELECT 1 FROM \(destination.sql.table) AS other WHERE other."id" = own.\(reference)) LIMIT 20
            """
    }

    static func delete(_ info: EntityInfo) -> String {
        "DELETE FROM \(info.sql.table) WHERE \"id\" IN (\(ids(info.index))) RETURNING \"id\""
    }

    /// The rows to which a delete cascades.
    enum Cascade {
        /// The rows whose to-one column refers to a deleted row.
        case referring(EntityInfo, column: Int)
        /// The rows to which a to-one column of deleted rows refers.
        case referred(EntityInfo, column: Int)
        /// The members of deleted rows.
        case members(EntityInfo, own: Int, other: Int)
    }

    /// Gathers the rows to which the deletes of one round cascade.
    static func gatherCascade(_ cascade: Cascade, from entity: Int, into table: String) -> String {
        let round = "\(ids(entity)) WHERE \"round\" = ?1"
        let select =
            switch cascade {
            case .referring(let info, let column):
                "SELECT \"id\", ?1 + 1 FROM \(info.sql.table) WHERE \(info.sql.columns[column]) IN (\(round))"
            case .referred(let info, let column):
                """
                SELECT \(info.sql.columns[column]), ?1 + 1 FROM \(info.sql.table) WHERE "id" IN (\(round)) \
                AND \(info.sql.columns[column]) IS NOT NULL
                """
            case .members(let info, let own, let other):
                "SELECT \(info.sql.columns[other]), ?1 + 1 FROM \(info.sql.table) WHERE \(info.sql.columns[own]) IN (\(round))"
            }
        return "INSERT OR IGNORE INTO \(table) \(select)"
    }

    /// Up to 20 remaining rows that refer to gathered rows, each with its reference.
    static func selectReferring(_ info: EntityInfo, _ column: Int, to entity: Int) -> String {
        """
        SELECT "id", \(info.sql.columns[column]) FROM \(info.sql.table) WHERE \(info.sql.columns[column]) IN (\(ids(entity))) \
        AND "id" NOT IN (\(ids(info.index))) LIMIT 20
        """
    }

    static func empty(_ info: EntityInfo, _ column: Int, to entity: Int) -> String {
        let time = info.updatedAt.map { ", \(info.sql.columns[$0]) = ?" } ?? ""
        return """
            UPDATE \(info.sql.table) SET \(info.sql.columns[column]) = NULL, "_version" = ?\(time) \
            WHERE \(info.sql.columns[column]) IN (\(ids(entity))) AND "id" NOT IN (\(ids(info.index))) RETURNING \(info.sql.columnList)
            """
    }

    static func deleteMembers(_ join: EntityInfo, _ column: Int, of entity: Int) -> String {
        """
        DELETE FROM \(join.sql.table) WHERE \(join.sql.columns[column]) IN (\(ids(entity))) RETURNING \(join.sql.columnList)
        """
    }
}
