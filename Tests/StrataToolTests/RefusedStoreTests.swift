import Foundation
import GRDB
import StoreModels
import Strata
import Testing

@Suite("Files that the tool refuses", .timeLimit(.minutes(2))) struct RefusedStoreTests {
    /// Commands that open a file in different ways. A console that began to serve would not end.
    private static func commands(_ url: URL) -> [[String]] {
        let serve = ["serve", url.path, "--port", "0"]
        return [
            ["inspect", url.path], ["sql", url.path, "SELECT * FROM Article"], serve, serve + ["--allow-changes"],
        ]
    }

    /// Runs commands on a file, and expects a message and no change.
    private func expectRefusal(
        _ url: URL,
        in folder: ScratchFolder,
        _ message: String,
        location: SourceLocation = #_sourceLocation
    ) async throws {
        let before = try folder.image()
        for arguments in Self.commands(url) {
            let run = await ToolRun(arguments)
            #expect(run.status == 1, "\(arguments)", sourceLocation: location)
            #expect(run.output.isEmpty, sourceLocation: location)
            #expect(run.messages.hasPrefix("strata: "), sourceLocation: location)
            #expect(run.messages.contains(message), "\(run.messages)", sourceLocation: location)
            #expect(try folder.image() == before, sourceLocation: location)
        }
    }

    @Test("A missing file, an empty file and a folder")
    func noFile() async throws {
        let folder = try ScratchFolder()
        try await expectRefusal(folder.file("missing.sqlite"), in: folder, "does not exist")
        try Data().write(to: folder.file("empty.sqlite"))
        try await expectRefusal(folder.file("empty.sqlite"), in: folder, "is empty")
        try await expectRefusal(folder.url, in: folder, "is a folder")
    }

    @Test("A name with a line feed stays on the line of the message")
    func lineFeed() async throws {
        let folder = try ScratchFolder()
        let run = await ToolRun("inspect", folder.file("a\nstrata: b\u{1B}[2J").path)
        #expect(run.status == 1)
        #expect(run.messages.split(separator: "\n").count == 1, "\(run.messages)")
        #expect(run.messages.contains(#"a\nstrata: b\u{1b}[2J"#), "\(run.messages)")
    }

    @Test("Files that are not stores")
    func notAStore() async throws {
        let folder = try ScratchFolder()
        try Data("Dear diary\u{1B}[2J".utf8).write(to: folder.file("diary"))
        try await expectRefusal(folder.file("diary"), in: folder, "notAStore")
        try Press.change(folder.file("other.sqlite"), "CREATE TABLE wallet (coins)")
        try await expectRefusal(folder.file("other.sqlite"), in: folder, "notAStore")
        try await expectRefusal(folder.file("other.sqlite"), in: folder, "Name a store.")
    }

    @Test("A store of a newer version")
    func newer() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        try Press.change(url, "PRAGMA user_version = 99")
        try await expectRefusal(url, in: folder, "newerStore")
    }

    @Test("A store that another program has changed")
    func changed() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        try Press.change(url, "CREATE INDEX own ON Article (views)")
        try await expectRefusal(url, in: folder, "index 'own' on 'Article' was not created by Strata")
    }

    @Test("A store whose own tables are damaged")
    func damaged() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        try Press.change(url, "DELETE FROM strata_schema")
        try await expectRefusal(url, in: folder, "damagedStore")
    }

    @Test("A store in the middle of a transaction whose process has ended")
    func unfinished() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        try Press.change(url, "PRAGMA journal_mode = DELETE")
        let queue = try DatabaseQueue(path: url.path)
        let copy = folder.file("copy.sqlite")
        try queue.inDatabase { db in
            // With such a small cache, the transaction writes pages into the file before it ends.
            try db.execute(sql: "PRAGMA cache_size = 1; BEGIN; CREATE TABLE many (number)")
            try db.execute(
                sql: """
                    WITH RECURSIVE n (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM n WHERE number < 50000) \
                    INSERT INTO many SELECT number FROM n
                    """
            )
            for end in ["", "-journal"] {
                try FileManager.default.copyItem(atPath: url.path + end, toPath: copy.path + end)
            }
            try db.execute(sql: "ROLLBACK")
        }
        try queue.close()
        let before = try folder.image()
        for arguments in [["inspect", copy.path], ["sql", copy.path, "SELECT 1"]] {
            let run = await ToolRun(arguments)
            #expect(run.status == 1, "\(arguments)")
            #expect(run.messages.contains("a process has ended in the middle of a transaction"), "\(run.messages)")
        }
        #expect(try folder.image() == before)
    }

    @Test("A file with damaged pages ends with a message")
    func damagedPages() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        var bytes = try Data(contentsOf: url)
        // The first page stays, so that the file is still a store.
        for index in 4096..<bytes.count { bytes[index] = UInt8(truncatingIfNeeded: index &* 31) }
        try bytes.write(to: url)
        for arguments in Self.commands(url) {
            let run = await ToolRun(arguments)
            #expect(run.status == 1, "\(arguments)")
            #expect(run.output.isEmpty)
            #expect(run.messages.contains("damagedStore"), "\(run.messages)")
        }
    }

    @Test("A journal without its index, in a folder in which the user may not create it", .enabled(if: getuid() != 0))
    func journalAlone() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.makeCopyWithoutIndex(in: folder)
        #expect(chmod(folder.url.path, 0o555) == 0)
        defer { chmod(folder.url.path, 0o755) }
        try await expectRefusal(url, in: folder, "Copy both files into a folder in which you may write")
    }

    @Test("A folder in which the user may not create the journal", .enabled(if: getuid() != 0))
    func readOnlyFolder() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        #expect(chmod(folder.url.path, 0o555) == 0)
        defer { chmod(folder.url.path, 0o755) }
        try await expectRefusal(url, in: folder, "you may not create the two files")
    }

    @Test("A name in the recorded schema cannot control the terminal")
    func hostileName() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        try Press.change(
            url,
            """
            UPDATE strata_schema SET description = \
            replace(description, 'model Author', 'model "Au' || char(27) || '[31mthor" table Author')
            """
        )
        let run = await ToolRun("inspect", url.path)
        #expect(run.status == 0, "\(run.messages)")
        #expect(!run.output.contains("\u{1B}"))
        #expect(run.output.contains(#"Au\u{1b}[31mthor"#))
    }
}
