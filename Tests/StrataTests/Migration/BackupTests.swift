import Foundation
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Backups before migrations", .aboutTheFile("migrates stores, and backs their files up")) struct BackupTests {
    private static let name = "library-format-2.sqlite"
    /// The files of a closed store.
    private static let files = [name, name + "-turn"]

    @Test("A copy of the old state is beside the store, and opens with the old models", arguments: [1, 2])
    func beside(format: Int) async throws {
        let folder = try ScratchFolder()
        let url = try await folder.library(format: format)
        let copy = folder.file("copy.sqlite")
        try FileManager.default.copyItem(at: url, to: copy)
        let before = try await folder.with(copy, Library1.models) { try LibraryContent(first: $0) }
        let rows = try folder.rows(url, "SELECT * FROM Article")
        let now = try await folder.with(url, Library2.models, Library2.migration) { try LibraryContent(second: $0) }
        #expect(now == before)
        let backup = folder.file(url.lastPathComponent + ".before-migration-1")
        #expect(try folder.rows(backup, "SELECT * FROM Article") == rows)
        #expect(try folder.image().keys.filter { $0.contains("partial") } == [])
        let after = try await folder.with(backup, Library1.models) { try LibraryContent(first: $0) }
        #expect(after == before)
    }

    @Test("A migration keeps as many backups as asked for, in the folder asked for")
    func kept() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.library(format: 2)
        let place = folder.file("backups")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        var migration = Migration()
        for number in 1...12 {
            migration = migration.step("step \(number)") { try $0.execute("UPDATE Article SET views = views + 1") }
            try await folder.with(url, Library1.models, migration.backup(.folder(place, keeping: 3))) { _ in }
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: place.path).sorted()
        #expect(names == [10, 11, 12].map { "\(Self.name).before-migration-\($0)" })
        #expect(try folder.rows(place.appendingPathComponent(names[0]), "SELECT min(views) FROM Article") == ["9"])
        #expect(try folder.image().keys.sorted().filter { !$0.hasPrefix("backups") } == Self.files)
    }

    @Test("Without a folder for the backup the migration is refused; with backups off none is made")
    func places() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.library(format: 2)
        let nowhere = Library2.migration.backup(.folder(folder.file("nowhere"), keeping: 1))
        try await folder.expectRefusal(url, Library2.models, nowhere, .cannotOpen, "nowhere")
        try await folder.with(url, Library2.models, Library2.migration.backup(.none)) { _ in }
        #expect(try folder.image().keys.sorted() == Self.files)
    }

    @Test("The newest backups are kept, even if older ones have higher numbers")
    func numbers() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.library(format: 2)
        for number in 4...5 {
            let file = folder.file("\(Self.name).before-migration-\(number)")
            try Data("old".utf8).write(to: file)
            let date = Date(timeIntervalSinceNow: TimeInterval(number - 1000))
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
        }
        let migration = Migration().step("a") { _ in }
        try await folder.with(url, Library1.models, migration) { _ in }
        #expect(
            try folder.image().keys.sorted()
                == Self.files + ["\(Self.name).before-migration-1", "\(Self.name).before-migration-5"]
        )
        // The new backup stays, however old the store's clock makes it.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: 1000)],
            ofItemAtPath: folder.file("\(Self.name).before-migration-5").path
        )
        try await folder.with(url, Library1.models, migration.step("b") { _ in }.backup(.beside(keeping: 1))) { _ in }
        #expect(try folder.image().keys.sorted() == Self.files + ["\(Self.name).before-migration-2"])
    }

    @Test("A backup has the file permissions of the store")
    func permissions() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.library(format: 2)
        let files = FileManager.default
        for (number, permissions) in [0o600, 0o664].enumerated() {
            try files.setAttributes([.posixPermissions: permissions], ofItemAtPath: url.path)
            let migration = (0...number).reduce(Migration()) { $0.step("\($1)") { _ in } }
            try await folder.with(url, Library1.models, migration) { _ in }
            let backup = folder.file("\(Self.name).before-migration-\(number + 1)")
            let found = try files.attributesOfItem(atPath: backup.path)[.posixPermissions] as? NSNumber
            #expect(found?.intValue == permissions)
        }
    }
}
