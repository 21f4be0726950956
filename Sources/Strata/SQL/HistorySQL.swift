/// The table of commits: the number of the newest one is the number of the store's state, and those before it are the history.
///
/// So a commit writes its number and its history in one place. The newest row always stays.
enum HistorySQL {
    static let name = "strata_history"

    /// `total` is the number of bytes of all `changes` up to and with this row's, pruned ones too. `changes` is NULL where it is
    /// not known what was changed. `migrations` says how often the store was migrated until then, so that whoever reads the number
    /// sees at once that the tables are not those that he knows.
    static let table = """
        CREATE TABLE "strata_history" ("sequence" INTEGER PRIMARY KEY, "time" REAL NOT NULL, "author" TEXT, \
        "total" INTEGER NOT NULL, "changes" BLOB, "migrations" INTEGER NOT NULL)
        """

    static let insertFirst = "INSERT INTO \"strata_history\" VALUES (0, ?, NULL, 0, NULL, 0)"
    static let readSequence =
        "SELECT \"sequence\", \"migrations\" FROM \"strata_history\" ORDER BY \"sequence\" DESC LIMIT 1"
    /// The row of the commit before is asked for column by column: to select a row from the table that is inserted into would make a
    /// temporary table at each commit.
    static let insert = """
        INSERT INTO "strata_history" ("sequence", "time", "author", "changes", "total", "migrations") VALUES (?1, ?2, ?3, ?4, \
        ?5 + (SELECT "total" FROM "strata_history" WHERE "sequence" = ?6), \
        (SELECT "migrations" FROM "strata_history" WHERE "sequence" = ?6))
        """
    static let newestMigrations =
        "(SELECT \"migrations\" FROM \"strata_history\" ORDER BY \"sequence\" DESC LIMIT 1)"
    static let readMigrations = "SELECT \(newestMigrations)"
    /// The commit of a migration, of which it is not known what it has changed.
    static let insertMigration = """
        INSERT INTO "strata_history" SELECT "sequence" + 1, ?, NULL, "total", NULL, "migrations" + 1 \
        FROM "strata_history" ORDER BY "sequence" DESC LIMIT 1
        """
    /// In stores of format 1 the number stood in another table.
    static let insertOldSequence =
        "INSERT INTO \"strata_history\" SELECT \"sequence\", 0, NULL, 0, NULL, 0 FROM \"strata_store\""
    /// Where no history is kept, the newest row becomes the one of this commit.
    static let move = """
        UPDATE "strata_history" SET "sequence" = ?, "time" = ?, "author" = NULL, "changes" = NULL WHERE "sequence" = ?
        """
    static let select = """
        SELECT "sequence", "time", "author", "changes" FROM "strata_history" WHERE "sequence" > ? ORDER BY "sequence" LIMIT ?
        """
    /// The position behind which every commit is known.
    static let selectStart = """
        SELECT coalesce((SELECT max("sequence") FROM "strata_history" WHERE "changes" IS NULL), \
        (SELECT min("sequence") - 1 FROM "strata_history"))
        """
    static let selectTotal = "SELECT \"total\" FROM \"strata_history\" WHERE \"sequence\" = ?"

    /// How many commits there are from one pruning to the next, and how many rows each may take: more than have come.
    static let pruningInterval: Int64 = 64
    static let selectOldest =
        "SELECT \"sequence\", \"time\", \"total\" FROM \"strata_history\" ORDER BY \"sequence\" LIMIT 1024"
    static let pruneThrough = """
        DELETE FROM "strata_history" WHERE "sequence" <= ?1 \
        AND "sequence" < (SELECT max("sequence") FROM "strata_history")
        """
}
