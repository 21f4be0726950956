import Foundation

/// The FTS5 tables that index the words of texts, and the triggers that update them with the rows.
///
/// Such a table does not copy the texts but reads them from the rows. See "External Content Tables" in
/// https://www.sqlite.org/fts5.html
enum SearchSQL {
    /// The suffix prevents a clash with FTS5's internal tables for the search table of another table.
    static func table(of table: String) -> String { "strata_search_\(table)_words" }

    /// The internal tables in which FTS5 stores the content of a search table.
    static func shadows(of table: String) -> [String] {
        ["data", "idx", "docsize", "config"].map { "\(self.table(of: table))_\($0)" }
    }

    static func create(_ search: SearchDescription, of table: String) -> (name: String, sql: String) {
        let options = ["content=\(SQLText.literal(.text(table)))", "content_rowid='id'"] + options(search)
        let name = self.table(of: table)
        return (name, create("CREATE VIRTUAL TABLE \(name.quotedIdentifier)", search.columns, options))
    }

    private static func create(_ start: String, _ columns: [String], _ options: [String]) -> String {
        "\(start) USING fts5(\((columns.map(\.quotedIdentifier) + options).joined(separator: ", ")))"
    }

    private static func options(_ search: SearchDescription) -> [String] {
        let prefixes = search.prefixes.map { "\($0)" }.joined(separator: " ")
        return ["tokenize='\(search.tokenizer.words.joined(separator: " "))'"]
            + (prefixes.isEmpty ? [] : ["prefix='\(prefixes)'"])
    }

    static func triggers(_ search: SearchDescription, of table: String) -> [(name: String, sql: String)] {
        let found = self.table(of: table).quotedIdentifier
        let columns = search.columns.map(\.quotedIdentifier)
        func values(_ row: String) -> String { columns.map { ", \(row).\($0)" }.joined() }
        let list = columns.map { ", \($0)" }.joined()
        let add = "INSERT INTO \(found) (rowid\(list)) VALUES (NEW.\"id\"\(values("NEW")));"
        let remove = "INSERT INTO \(found) (\(found), rowid\(list)) VALUES ('delete', OLD.\"id\"\(values("OLD")));"
        return [
            ("insert", "AFTER INSERT", add),
            ("update", "AFTER UPDATE OF \((["\"id\""] + columns).joined(separator: ", "))", "\(remove) \(add)"),
            ("delete", "AFTER DELETE", remove),
        ].map { event, time, body in
            let name = "\(table)_search_\(event)"
            return (
                name, "CREATE TRIGGER \(name.quotedIdentifier) \(time) ON \(table.quotedIdentifier) BEGIN \(body) END"
            )
        }
    }

    /// Rebuilds a search table from the existing rows.
    static func rebuild(_ table: String) -> String {
        let name = self.table(of: table).quotedIdentifier
        return "INSERT INTO \(name) (\(name)) VALUES ('rebuild')"
    }

    // MARK: Searching

    /// The matching rows with their columns and scores.
    ///
    /// - Parameters:
    ///   - rows: the table or subquery with the rows.
    ///   - score: the parameter with the score statistics; nil if scores are not needed.
    static func select(
        _ columns: [String],
        of rows: String,
        in found: String,
        where match: String,
        score: String?,
        unless hidden: String?
    ) -> String {
        """
        SELECT \(columns.map { "r.\($0)" }.joined(separator: ", "))\(rank(found, score)) FROM \(found) \
        CROSS JOIN \(rows) AS r ON r."id" = \(found).rowid WHERE \(found) MATCH \(match)\(shown("r.\"id\"", unless: hidden))
        """
    }

    /// The ids of the matching rows, with their scores.
    static func selectScores(in found: String, where match: String, score: String?, unless hidden: String?) -> String {
        """
        SELECT \(found).rowid AS "id"\(rank(found, score)) FROM \(found) \
        WHERE \(found) MATCH \(match)\(shown("\(found).rowid", unless: hidden))
        """
    }

    /// The rows listed in the common table expression `best`, with their columns and scores.
    static func selectBest(_ columns: [String], of rows: String, unless hidden: String?) -> String {
        """
        SELECT \(columns.map { "r.\($0)" }.joined(separator: ", ")), best."\(scoreColumn)" FROM best \
        CROSS JOIN \(rows) AS r ON r."id" = best."id" WHERE 1\(shown("r.\"id\"", unless: hidden))
        """
    }

    /// The rows of the best matches.
    static func rows(_ selects: [String], best: String, slice: String) -> String {
        """
        WITH best AS MATERIALIZED (SELECT * FROM (\(best)) ORDER BY "\(scoreColumn)" DESC, "id"\(slice)) \
        \(selects.joined(separator: " UNION ALL "))
        """
    }

    private static func rank(_ found: String, _ score: String?) -> String {
        score.map { ", strata_rank(\(found), \($0)) AS \"\(scoreColumn)\"" } ?? ""
    }

    private static func shown(_ id: String, unless hidden: String?) -> String {
        hidden.map { " AND (SELECT NOT \($0)(\(id)))" } ?? ""
    }

    static let scoreColumn = "strata_score"

    /// The ids of the rows that match.
    static func selectIDs(in found: String, where match: String, unless hidden: String?) -> String {
        "SELECT \(found).rowid FROM \(found) WHERE \(found) MATCH \(match)\(shown("\(found).rowid", unless: hidden))"
    }

    /// The number of rows that contain a phrase. Without matches, the result may have no row.
    static func count(in found: String, unless hidden: String?) -> String {
        guard hidden == nil else {
            return "SELECT count(*) FROM (\(selectIDs(in: found, where: "?1", unless: hidden)))"
        }
        // Counting within FTS5 is faster than counting the rows that FTS5 returns.
        return "SELECT strata_matches(\(found)) FROM \(found) WHERE \(found) MATCH ?1 LIMIT 1"
    }

    /// The number of rows, and the number of words in them.
    static func totals(_ found: String) -> String {
        "SELECT strata_rows(\(found)), strata_words(\(found)) FROM \(found) LIMIT 1"
    }

    /// The number of words of each column of a row, as FTS5 stores them: a sequence of SQLite's variable-length
    /// integers.
    ///
    /// See "The Document Sizes Table" in https://www.sqlite.org/fts5.html
    static func sizes(of table: String) -> String {
        "SELECT \"sz\" FROM \(shadows(of: table)[2].quotedIdentifier) WHERE \"id\" = ?"
    }

    /// The sum of such integers.
    static func sum(ofSizes value: StoredValue) -> Int64? {
        guard case .blob(let sizes) = value else { return nil }
        var (sum, number, length) = (Int64(0), Int64(0), 0)
        for byte in sizes {
            length += 1
            // A ninth byte contributes all of its eight bits.
            let isLast = length == 9
            number = isLast ? number << 8 | Int64(byte) : number << 7 | Int64(byte & 0x7F)
            guard isLast || byte < 0x80 else { continue }
            sum &+= number
            (number, length) = (0, 0)
        }
        return sum
    }

    /// A text with the matches of a pattern, in the form that `strata_hits` returns.
    ///
    /// - Parameters:
    ///   - place: the index of the column among the searchable columns.
    ///   - isMatch: whether the row must match the pattern. If false, the text is selected without matches.
    static func selectText(_ column: String, _ place: Int, in found: String, isMatch: Bool) -> String {
        let hits = isMatch ? "strata_hits(\(found), \(place))" : "NULL"
        return "SELECT \(column.quotedIdentifier), \(hits) FROM \(found) WHERE rowid = ?1"
            + (isMatch ? " AND \(found) MATCH ?2" : "")
    }

    // MARK: Pending rows

    static func pendingTable(_ entity: Int) -> String { "strata_pending_search_\(entity)" }

    static func createPending(_ search: SearchDescription, _ entity: Int) -> String {
        create("CREATE VIRTUAL TABLE IF NOT EXISTS temp.\"\(pendingTable(entity))\"", search.columns, options(search))
    }

    static func clearPending(_ entity: Int) -> String { "DELETE FROM temp.\"\(pendingTable(entity))\"" }

    static func insertPending(_ search: SearchDescription, _ entity: Int) -> String {
        let columns = search.columns.map { ", \($0.quotedIdentifier)" }.joined()
        let parameters = repeatElement(", ?", count: search.columns.count).joined()
        return "INSERT INTO \"\(pendingTable(entity))\" (rowid\(columns)) VALUES (?\(parameters))"
    }

    static func deletePending(_ entity: Int) -> String { "DELETE FROM \"\(pendingTable(entity))\" WHERE rowid = ?" }
}
