/// The table of commits. The newest row's number identifies the store's state; earlier rows are the history.
///
/// A commit therefore writes its number and its history in one place. The newest row is never deleted.
enum HistorySQL {
    static let name = "strata_history"

    /// The table of commits.
    ///
    /// `total` is the number of bytes of all `changes` up to and including this row, also counting pruned rows.
    /// `changes` is NULL if the changes are unknown. `migrations` is the number of migrations of the store up to this
    /// commit. A reader of the number therefore detects at once that the tables have changed.
    static let table = """
        CREATE TABLE "strata_history" ("sequence" INTEGER PRIMARY KEY, "time" REAL NOT NULL, "author" TEXT, \
        "total" INTEGER NOT NULL, "changes" BLOB, "migrations" INTEGER NOT NULL)
        """

    static let insertFirst = "INSERT INTO \"strata_history\" VALUES (0, ?, NULL, 0, NULL, 0)"
    static let readSequence =
        "SELECT \"sequence\", \"migrations\" FROM \"strata_history\" ORDER BY \"sequence\" DESC LIMIT 1"
    /// Each column of the previous commit's row has its own subquery. An `INSERT … SELECT` from the same table would
    /// create a temporary table at each commit.
    static let insert = """
        INSERT INTO "strata_history" ("sequence", "time", "author", "changes", "total", "migrations") VALUES (?1, ?2, ?3, ?4, \
        ?5 + (SELECT "total" FROM "strata_history" WHERE "sequence" = ?6), \
        (SELECT "migrations" FROM "strata_history" WHERE "sequence" = ?6))
        """
    static let newestMigrations =
        "(SELECT \"migrations\" FROM \"strata_history\" ORDER BY \"sequence\" DESC LIMIT 1)"
    static let readMigrations = "SELECT \(newestMigrations)"
    /// The commit of a migration, whose changes are unknown.
    static let insertMigration = """
        INSERT INTO "strata_history" SELECT "sequence" + 1, ?, NULL, "total", NULL, "migrations" + 1 \
        FROM "strata_history" ORDER BY "sequence" DESC LIMIT 1
        """
    static let readNewest = """
        SELECT "sequence", "time", "author", "migrations" FROM "strata_history" ORDER BY "sequence" DESC LIMIT 1
        """
    /// Stores of format 1 kept the number in another table.
    static let insertOldSequence =
        "INSERT INTO \"strata_history\" SELECT \"sequence\", 0, NULL, 0, NULL, 0 FROM \"strata_store\""
    /// If the store does not keep a history, this commit reuses the newest row.
    static let move = """
        UPDATE "strata_history" SET "sequence" = ?, "time" = ?, "author" = NULL, "changes" = NULL WHERE "sequence" = ?
        """
    /// The oldest and the newest commit, and the numbers of bytes up to the newest and before the oldest one.
    static let readSizes = """
        SELECT (SELECT min("sequence") FROM "strata_history" WHERE "sequence" > 0), \
        (SELECT max("sequence") FROM "strata_history" WHERE "sequence" > 0), \
        (SELECT "total" FROM "strata_history" ORDER BY "sequence" DESC LIMIT 1), \
        (SELECT "total" - coalesce(length("changes"), 0) FROM "strata_history" ORDER BY "sequence" LIMIT 1)
        """
    /// The numbers of commits after two times, and whether the oldest row is not after the second time, or is that of
    /// the creation of the store.
    static let countSince = """
        SELECT coalesce(sum("time" > ?1), 0), coalesce(sum("time" > ?2), 0), \
        (SELECT "sequence" = 0 OR "time" <= ?2 FROM "strata_history" ORDER BY "sequence" LIMIT 1) \
        FROM "strata_history" WHERE "sequence" > 0
        """
    static let select = """
        SELECT "sequence", "time", "author", "changes" FROM "strata_history" WHERE "sequence" > ? ORDER BY "sequence" LIMIT ?
        """
    /// The position after which the changes of every commit are known.
    static let selectStart = """
        SELECT coalesce((SELECT max("sequence") FROM "strata_history" WHERE "changes" IS NULL), \
        (SELECT min("sequence") - 1 FROM "strata_history"))
        """
    static let selectTotal = "SELECT \"total\" FROM \"strata_history\" WHERE \"sequence\" = ?"

    /// The number of commits between two prunings. A pruning examines up to 1,024 rows, which is more than the new
    /// ones.
    static let pruningInterval: Int64 = 64
    static let selectOldest =
        "SELECT \"sequence\", \"time\", \"total\" FROM \"strata_history\" ORDER BY \"sequence\" LIMIT 1024"
    static let pruneThrough = """
        DELETE FROM "strata_history" WHERE "sequence" <= ?1 \
        AND "sequence" < (SELECT max("sequence") FROM "strata_history")
        """
}
