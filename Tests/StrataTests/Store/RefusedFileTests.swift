import Foundation
import GRDB
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Files that are not stores", .aboutTheFile("opens files that are not stores")) struct RefusedFileTests {
    @Test(
        "A file that is not a database is refused and left unchanged",
        arguments: [
            Data("Dear diary".utf8), Data(repeating: 0, count: 8192), Data("SQLite format 3\0".utf8),
            Data("SQLite format 3\0".utf8) + Data(repeating: 0xFF, count: 40), Data([0]),
            Data("SQLite format 2\0".utf8) + Data(repeating: 1, count: 4096),
        ]
    )
    func noDatabase(bytes: Data) async throws {
        let folder = try ScratchFolder()
        try bytes.write(to: folder.file("x.sqlite"))
        try await expectRefusal(folder.file("x.sqlite"), in: folder, .notAStore)
    }

    @Test("An empty file becomes a store")
    func empty() async throws {
        let folder = try ScratchFolder()
        try Data().write(to: folder.file("bank.sqlite"))
        let stack = try await openBank(try await folder.makeBank())
        try await expectBalancedBooks(stack, last: 3)
        try await stack.close()
    }

    @Test(
        "A database of another program is refused and left unchanged",
        arguments: [["PRAGMA application_id = 77"], [], ["PRAGMA journal_mode = WAL"]]
    )
    func otherProgram(statements: [String]) async throws {
        let folder = try ScratchFolder()
        let url = folder.file("other.sqlite")
        try folder.sql(url, "CREATE TABLE wallet (coins)", "INSERT INTO wallet VALUES (7)")
        for statement in statements { try folder.sql(url, statement) }
        try await expectRefusal(url, in: folder, .notAStore)
    }

    @Test("A store of a newer version is refused and left unchanged")
    func newer() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        try folder.sql(url, "PRAGMA user_version = \(StoreFile.formatVersion + 1)")
        try await expectRefusal(url, in: folder, .newerStore)
    }

    @Test("Paths that do not lead to a file are refused")
    func paths() async throws {
        let folder = try ScratchFolder()
        let files = FileManager.default
        try files.createDirectory(at: folder.file("folder"), withIntermediateDirectories: false)
        try files.createSymbolicLink(atPath: folder.file("dangling").path, withDestinationPath: "/missing/x.sqlite")
        try files.createSymbolicLink(atPath: folder.file("loop").path, withDestinationPath: "loop")
        try Data("text".utf8).write(to: folder.file("text"))
        #expect(mkfifo(folder.file("pipe").path, 0o600) == 0)
        // The image of a folder cannot read a pipe.
        #expect(try await errorOfOpening(folder.file("pipe"))?.code == .cannotOpen)
        try files.removeItem(at: folder.file("pipe"))
        for name in ["folder", "dangling", "loop", "missing/x", "text/x", String(repeating: "n", count: 300)] {
            try await expectRefusal(folder.file(name), in: folder, .cannotOpen)
        }
        for url in ["/dev/null", "/dev/zero", "/"] {
            try await expectRefusal(URL(fileURLWithPath: url), in: folder, .cannotOpen)
        }
        let remote = try #require(URL(string: "https://example.com/strata-remote.sqlite"))
        try await expectRefusal(remote, in: folder, .cannotOpen)
    }

    @Test(
        "File names of every kind are accepted",
        arguments: [
            "with space", "ünïcödé 文 🐟", "a?mode=ro", "a%20b#c", "file:x", "'quoted\" name", "-dash", ":memory:",
        ]
    )
    func names(name: String) async throws {
        let folder = try ScratchFolder()
        let stack = try await openBank(try await folder.makeBank(name))
        try await expectBalancedBooks(stack, last: 3)
        try await stack.close()
        #expect(try folder.image().keys.sorted() == [name, name + "-turn"])
    }

    @Test("A link opens the file that it leads to")
    func link() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        try FileManager.default.createSymbolicLink(atPath: folder.file("link").path, withDestinationPath: url.path)
        let stack = try await openBank(folder.file("link"))
        let direct = try await openBank(url)
        _ = try await stack.on(.root) { try Bank.transfer(2, in: $0) }
        try await expectBalancedBooks(direct, last: 4)
        try await stack.close()
        try await direct.close()
    }
}
