import Foundation
import GRDB
import StoreModels
import Strata
import Testing

@Suite("Damaged stores", .timeLimit(.minutes(2))) struct DamagedStoreTests {
    /// A store whose articles fill several pages, so that an interior page refers to them.
    private func makeStore(in folder: ScratchFolder) async throws -> URL {
        let url = try await Press.make(in: folder)
        let stack = try await Press.open(url)
        try await stack.background { context in
            for number in 0..<1000 {
                context.insert(Press.Article(title: String(repeating: "x", count: 100) + "\(number)"))
            }
            try context.commit()
        }
        try await stack.close()
        return url
    }

    /// Runs commands that read every page, and expects that they fail with a code and leave the file as it is.
    private func expectFailure(_ url: URL, _ code: String, location: SourceLocation = #_sourceLocation) async throws {
        let bytes = try Data(contentsOf: url)
        for arguments in [["inspect", url.path], ["sql", url.path, "SELECT sum(views) FROM Article"]] {
            let run = await ToolRun(arguments)
            #expect(run.status == 1, "\(run.output)", sourceLocation: location)
            #expect(run.output.isEmpty, sourceLocation: location)
            #expect(run.messages.hasPrefix("strata: \(code): "), "\(run.messages)", sourceLocation: location)
            #expect(try Data(contentsOf: url) == bytes, sourceLocation: location)
        }
        let check = await ToolRun("check", url.path)
        #expect(check.status == 1, sourceLocation: location)
        #expect(!(check.output + check.messages).contains("diskFull"), "\(check.messages)", sourceLocation: location)
    }

    @Test("An overwritten reference to a page is a damage, and not a full disk")
    func reference() async throws {
        let folder = try ScratchFolder()
        let url = try await makeStore(in: folder)
        let queue = try DatabaseQueue(path: url.path, configuration: .waiting)
        let sql = "SELECT rootpage FROM sqlite_master WHERE name = 'Article'"
        let root = try await queue.read { try Int.fetchOne($0, sql: sql) }
        try queue.close()
        let start = (try #require(root) - 1) * 4096
        var bytes = try Data(contentsOf: url)
        // The first page of the table refers to others. The number of the last one is in its header.
        #expect(bytes[start] == 5)
        bytes.replaceSubrange((start + 8)..<(start + 12), with: [0xFF, 0xFF, 0xFF, 0xFF])
        try bytes.write(to: url)
        try await expectFailure(url, "damagedStore")
    }

    @Test(
        "An overwritten header",
        arguments: [(0..<100, "notAStore"), (16..<24, "damagedStore"), (44..<48, "damagedStore")]
    )
    func header(_ range: Range<Int>, _ code: String) async throws {
        let folder = try ScratchFolder()
        let url = try await makeStore(in: folder)
        var bytes = try Data(contentsOf: url)
        bytes.replaceSubrange(range, with: Data(repeating: 0xFF, count: range.count))
        try bytes.write(to: url)
        try await expectFailure(url, code)
    }

    @Test("Pages of zeros")
    func zeros() async throws {
        let folder = try ScratchFolder()
        let url = try await makeStore(in: folder)
        var bytes = try Data(contentsOf: url)
        bytes.replaceSubrange(4096..., with: Data(count: bytes.count - 4096))
        try bytes.write(to: url)
        try await expectFailure(url, "damagedStore")
    }

    @Test("A file that ends in the middle", arguments: [2, 3])
    func truncated(_ divisor: Int) async throws {
        let folder = try ScratchFolder()
        let url = try await makeStore(in: folder)
        let bytes = try Data(contentsOf: url)
        try bytes.prefix(bytes.count / divisor + 77).write(to: url)
        try await expectFailure(url, "damagedStore")
    }

    @Test("A store of a newer version is not a damaged one")
    func newer() async throws {
        let folder = try ScratchFolder()
        let url = try await makeStore(in: folder)
        try Press.change(url, "PRAGMA user_version = 99")
        try await expectFailure(url, "newerStore")
    }
}
