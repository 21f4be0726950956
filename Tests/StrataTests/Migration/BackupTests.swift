import Foundation
import Testing

@testable import Strata

@Suite("C22 backups before migrations") struct BackupTests {
    private static let name = "library-format-2.sqlite"

    @Test("a copy of the old state is beside the store, and opens with the old models", arguments: [1, 2])
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

    @Test("as many as wanted are kept, where they are wanted")
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
        #expect(try folder.image().keys.sorted().filter { !$0.hasPrefix("backups") } == [Self.name])
    }

    @Test("without a place for it nothing is migrated; without a wish for it none is made")
    func places() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.library(format: 2)
        let nowhere = Library2.migration.backup(.folder(folder.file("nowhere"), keeping: 1))
        try await folder.expectRefusal(url, Library2.models, nowhere, .cannotOpen, "nowhere")
        try await folder.with(url, Library2.models, Library2.migration.backup(.none)) { _ in }
        #expect(try folder.image().keys.sorted() == [Self.name])
    }
}
