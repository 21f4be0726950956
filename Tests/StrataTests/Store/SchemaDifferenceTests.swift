import Foundation
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Stores whose schema was changed by hand", .aboutTheFile("changes the schema of the file"))
struct SchemaDifferenceTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let title: String
        let statements: [String]
        /// Texts that the error must contain.
        let texts: [String]
        var testDescription: String { title }
    }

    private static let account = """
        CREATE TABLE "Account" ("id" INTEGER PRIMARY KEY, "name" TEXT NOT NULL, "balance" INTEGER NOT NULL, \
        "note" TEXT NOT NULL, "_version" INTEGER NOT NULL DEFAULT 0)
        """
    private static let unique = #"CREATE UNIQUE INDEX "Account_name_unique" ON "Account" ("name")"#

    private static func rebuilt(_ part: String, as other: String) -> [String] {
        [#"DROP TABLE "Account""#, account.replacingOccurrences(of: part, with: other), unique]
    }

    static let cases = [
        Case(
            title: "a missing table",
            statements: [#"DROP TABLE "Counter""#],
            texts: ["table 'Counter' of Counter is missing"]
        ),
        Case(
            title: "a missing column",
            statements: [#"ALTER TABLE "Account" DROP COLUMN "note""#],
            texts: ["Account.note is missing"]
        ),
        Case(
            title: "an extra column",
            statements: [#"ALTER TABLE "Account" ADD COLUMN "more" TEXT"#],
            texts: ["column 'more' of 'Account' was not created by Strata"]
        ),
        Case(
            title: "a missing index",
            statements: [#"DROP INDEX "Account_name_unique""#],
            texts: ["'Account_name_unique' is missing"]
        ),
        Case(
            title: "another index under the same name",
            statements: [
                #"DROP INDEX "Account_name_unique""#, #"CREATE INDEX "Account_name_unique" ON "Account" ("note")"#,
            ],
            texts: ["index 'Account_name_unique' has another definition"]
        ),
        Case(title: "an extra index", statements: [#"CREATE INDEX "extra" ON "Leg" ("amount")"#], texts: ["'extra'"]),
        Case(
            title: "a trigger",
            statements: [#"CREATE TRIGGER "watch" AFTER UPDATE ON "Leg" BEGIN UPDATE "Counter" SET "last" = 0; END"#],
            texts: ["'watch'"]
        ),
        Case(
            title: "another type",
            statements: rebuilt(#""balance" INTEGER"#, as: #""balance" TEXT"#),
            texts: ["Account.balance was INTEGER and is TEXT"]
        ),
        Case(
            title: "optional in the store only",
            statements: rebuilt(#""balance" INTEGER NOT NULL"#, as: #""balance" INTEGER"#),
            texts: ["Account.balance was not optional and is"]
        ),
        Case(
            title: "optional in the model only",
            statements: [
                #"DROP TABLE "Leg""#,
                #"CREATE TABLE "Leg" ("id" INTEGER PRIMARY KEY, "amount" INTEGER NOT NULL, "transfer" INTEGER NOT NULL, "account" INTEGER, "_version" INTEGER NOT NULL DEFAULT 0)"#,
            ],
            texts: ["Leg.transfer was optional and is not"]
        ),
        Case(
            title: "another order of the columns",
            statements: rebuilt(
                #""name" TEXT NOT NULL, "balance" INTEGER NOT NULL"#,
                as: #""balance" INTEGER NOT NULL, "name" TEXT NOT NULL"#
            ),
            texts: [
                "table 'Account' has another definition"
            ]
        ),
        Case(
            title: "a check",
            statements: rebuilt(
                #""balance" INTEGER NOT NULL"#,
                as: #""balance" INTEGER NOT NULL CHECK ("balance" > 0)"#
            ),
            texts: ["table 'Account' has another definition"]
        ),
        Case(
            title: "no version column",
            statements: rebuilt(#", "_version" INTEGER NOT NULL DEFAULT 0"#, as: ""),
            texts: ["Account"]
        ),
        Case(
            title: "a view in place of a table",
            statements: [#"DROP TABLE "Counter""#, #"CREATE VIEW "Counter" AS SELECT 1"#],
            texts: ["Counter"]
        ),
        Case(
            title: "a virtual table over a shadow of ours",
            statements: [#"DROP TABLE "Counter""#, #"CREATE VIRTUAL TABLE "Counter" USING fts5(last)"#],
            texts: ["Counter"]
        ),
        Case(
            title: "several at once",
            statements: [
                #"ALTER TABLE "Account" DROP COLUMN "note""#, #"DROP TABLE "Counter""#,
                #"ALTER TABLE "Leg" ADD COLUMN "extra" TEXT"#, #"CREATE INDEX "more" ON "Transfer" ("id")"#,
            ],
            texts: ["Account.note is missing", "table 'Counter'", "column 'extra' of 'Leg'", "'more'"]
        ),
    ]

    @Test("A store with one difference of each kind is refused, and the error names the difference", arguments: cases)
    func difference(_ difference: Case) async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        for statement in difference.statements { try folder.sql(url, statement) }
        let error = try await errorOfOpening(url)
        for text in difference.texts {
            #expect(error?.message.contains(text) == true, "\(text) in \(error?.message ?? "nothing")")
        }
        try await expectRefusal(url, in: folder, .schemaMismatch)
    }

    @Test("A store without its own table is refused instead of being filled again")
    func ownTable() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        try folder.sql(url, "DROP TABLE strata_store")
        let before = try folder.image()
        let error = try await errorOfOpening(url)
        #expect(error?.code == .schemaMismatch || error?.code == .damagedStore)
        #expect(try folder.image() == before)
    }
}
