import Foundation
import GRDB
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Searchable attributes in migrations", .aboutTheFile("migrates stores")) struct SearchMigrationTests {
    enum Plain {
        @Model(table: "Paper") final class Paper {
            var title: String
            var pages: Int = 1
        }
    }

    enum Searched {
        @Model(table: "Paper") final class Paper {
            @Attribute(.searchable) var title: String
            var pages: Int = 1
        }
    }

    /// Adds a column in place.
    enum Grown {
        @Model(table: "Paper") final class Paper {
            @Attribute(.searchable(weight: 2)) var title: String
            var pages: Int = 1
            var note: String?
        }
    }

    /// Changes the table, names, types, and the searched words.
    enum Changed {
        @Model(.search(.stems, prefixes: [3, 2]), table: "Report", originalName: "Paper")
        final class Report {
            @Attribute(.searchable, originalName: "title") var heading: String
            var pages: String = "1"
            @Attribute(.searchable) var note: String?
        }
    }

    private func searchEntries(_ folder: ScratchFolder, _ url: URL) throws -> [String] {
        try folder.rows(
            url,
            "SELECT name FROM sqlite_schema WHERE name LIKE '%search%' AND name NOT LIKE 'sqlite%' ORDER BY 1"
        )
    }

    @Test("Attributes become searchable, stay so through changes of all kinds, and stop being searchable")
    func wholeLife() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("papers.sqlite")
        try await folder.with(url, [Plain.Paper.self]) { context in
            for title in ["Connected horses", "A river"] { context.insert(Plain.Paper(title: title)) }
            try context.commit()
        }
        let plan = try await Migration().plan(for: .sqlite(url), models: [Searched.Paper.self])
        #expect(plan.changes == ["make Paper searchable by title"] && !plan.needsBackup)
        try await folder.with(url, [Searched.Paper.self]) { context in
            let found = try context.count(Searched.Paper.search("horses"))
            #expect(found == 1)
            context.insert(Searched.Paper(title: "More horses"))
            try context.commit()
        }
        let entries = try searchEntries(folder, url)
        #expect(entries.count == 8 && entries.contains("strata_search_Paper_words_docsize"))

        // A new column does not change the search index.
        let root = try folder.rows(
            url,
            "SELECT rootpage FROM sqlite_schema WHERE name = 'strata_search_Paper_words_data'"
        )
        try await folder.with(url, [Grown.Paper.self]) { context in
            let found = try context.count(Grown.Paper.search("horses"))
            #expect(found == 2)
        }
        let rootAfter = try folder.rows(
            url,
            "SELECT rootpage FROM sqlite_schema WHERE name = 'strata_search_Paper_words_data'"
        )
        #expect(rootAfter == root)
        #expect(try await Migration().plan(for: .sqlite(url), models: [Grown.Paper.self]).isEmpty)

        let change = Migration().filling("Report.pages", with: "CAST(pages AS TEXT)")
        let changes = try await change.plan(for: .sqlite(url), models: [Changed.Report.self]).changes
        #expect(changes.contains("make Report searchable by heading, note"))
        try await folder.with(url, [Changed.Report.self], change) { context in
            let found = try context.count(Changed.Report.search("connection horse"))
            #expect(found == 1)
            let first = try #require(try context.first(Changed.Report.all))
            first.note = "about the sea"
            try context.commit()
            let noted = try context.count(Changed.Report.search(.prefixes("se hor")))
            #expect(noted == 1)
        }
        let renamed = try searchEntries(folder, url)
        #expect(renamed.count == 8 && renamed.allSatisfy { $0.contains("Report") })
        let text = try ContextStack.schemaText(of: [Changed.Report.self])
        #expect(text.contains("search (heading, note) stems 2 3"))
        #expect(try await ContextStack.schemaText(in: .sqlite(url)) == text)

        let back = Migration().filling("Paper.pages", with: "CAST(pages AS INTEGER)").dropping("Report.note")
        try await folder.with(url, [Back.Paper.self], back) { context in
            let found = try context.fetch(Back.Paper.all).map(\.title)
            #expect(found == ["Connected horses", "A river", "More horses"])
        }
        #expect(try searchEntries(folder, url).isEmpty)
        #expect(try folder.rows(url, "PRAGMA integrity_check") == ["ok"])
    }

    enum Back {
        @Model(table: "Paper", originalName: "Report") final class Paper {
            @Attribute(originalName: "heading") var title: String
            var pages: Int = 1
        }
    }

    @Test("A search finds rows that steps write, and derived texts that a migration calculates")
    func steps() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("papers.sqlite")
        try await folder.with(url, [Plain.Paper.self]) { context in
            context.insert(Plain.Paper(title: "Horses"))
            try context.commit()
        }
        let migration = Migration().step(
            "more",
            before: { try $0.execute("UPDATE Paper SET title = title || ' and rivers'") },
            after: { database in
                let count = try database.execute("INSERT INTO Paper (id, title, pages) VALUES (1000, 'Stones', 2)")
                #expect(count == 1)
            }
        )
        try await folder.with(url, [Searched.Paper.self], migration) { context in
            let found = try ["rivers", "stones", "horses"].map { try context.count(Searched.Paper.search(.words($0))) }
            #expect(found == [1, 1, 1])
        }
    }

    @Test("Steps that replace rows and change their ids leave no words in the index")
    func replacingSteps() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("papers.sqlite")
        try await folder.with(url, [Searched.Paper.self]) { context in
            for title in ["alpha", "beta"] { context.insert(Searched.Paper(title: title)) }
            try context.commit()
        }
        let migration = Migration().step(
            "replace",
            before: { database in
                try database.execute(
                    "INSERT OR REPLACE INTO Paper (id, title, pages) SELECT id, 'gamma', 1 FROM Paper WHERE title = 'alpha'"
                )
                try database.execute("UPDATE Paper SET id = 1000 WHERE title = 'beta'")
            },
            after: nil
        )
        try await folder.with(url, [Searched.Paper.self], migration) { context in
            let counts = try ["alpha", "beta", "gamma"].map { try context.count(Searched.Paper.search(.words($0))) }
            #expect(counts == [0, 1, 1])
        }
        let queue = try DatabaseQueue(path: url.path, configuration: .waiting)
        try await queue.write {
            try $0.execute(
                sql: "INSERT INTO strata_search_Paper_words (strata_search_Paper_words) VALUES ('integrity-check')"
            )
        }
        try queue.close()
    }

    enum Ends {
        @Model final class Paper { @Attribute(.searchable) var title: String }
        @Model(table: "Paper_data") final class PaperData { @Attribute(.searchable) var title: String }
        @Model(table: "Paper_words") final class PaperWords { @Attribute(.searchable) var title: String }
    }

    @Test("Models may have table names that end like FTS5's own")
    func names() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("papers.sqlite")
        try await folder.with(url, [Ends.Paper.self, Ends.PaperData.self, Ends.PaperWords.self]) { context in
            context.insert(Ends.PaperData(title: "horse"))
            try context.commit()
            let counts = try (
                context.count(Ends.Paper.search("horse")), context.count(Ends.PaperData.search("horse")),
                context.count(Ends.PaperWords.search("horse"))
            )
            #expect(counts == (0, 1, 0))
        }
    }

    @Test("A refusal names the parts of the search index that were changed by hand")
    func changedByHand() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("papers.sqlite")
        try await folder.with(url, [Searched.Paper.self]) { _ in }
        let queue = try DatabaseQueue(path: url.path, configuration: .waiting)
        try await queue.write { try $0.execute(sql: "DROP TRIGGER Paper_search_update") }
        try queue.close()
        try await folder.expectRefusal(url, [Searched.Paper.self], Migration(), .schemaMismatch, "Paper_search_update")
    }
}
