import Foundation
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

/// The first transaction on a file has not ended when its process is killed or the power fails. SQLite empties the file
/// when it is opened the next time. The bytes of the file say nothing until then.
@Suite("Stores whose creation was interrupted", .aboutTheFile("interrupts the first transaction on a file"))
struct KilledCreationTests {
    // MARK: Killed processes

    #if os(Linux)
        @Test("A process may be killed at any step of creating a store, and the next ones have a store")
        func steps() async throws {
            let folder = try ScratchFolder()
            let counting = try HelperProcess("create", folder.file("whole.sqlite").path)
            let last = try #require(await counting.end().last, "no output")
            try #require(last.hasPrefix("done "), "\(last)")
            // The numbers of files whose first transaction had written a page and not ended, and of files with a later
            // transaction that had not ended.
            var (unfinished, later) = (0, 0)
            for entry in last.dropFirst("done ".count).split(separator: ",") {
                let parts = entry.split(separator: "=")
                let (kind, count) = (String(parts[0]), try #require(Int(parts[1])))
                for number in 0..<count {
                    let step = "\(kind) \(number + 1)"
                    let store = folder.file("\(step).sqlite")
                    let child = try HelperProcess("create", store.path, "\(number + 1)", kind)
                    _ = await child.end()
                    // The background thread that reserves ids may come later than in the run that was counted.
                    guard child.endingSignal == SIGKILL else { continue }
                    if let pages = pages(beforeTransactionOn: store) {
                        if pages > 0 { later += 1 } else if try !Data(contentsOf: store).isEmpty { unfinished += 1 }
                        let error = try await errorOfReading(store)
                        #expect(error?.code == (pages > 0 ? .cannotOpen : .notAStore), "\(step): \(error as Any)")
                        #expect(pages == self.pages(beforeTransactionOn: store), "\(step) was taken back")
                    }
                    try await expectStore(store, step)
                }
            }
            #expect(unfinished > 0 && later > 0, "\(unfinished), \(later), \(last)")
        }

        /// The number of pages of a file before its unfinished transaction; nil without such a transaction.
        private func pages(beforeTransactionOn url: URL) -> Int? {
            let header = FileManager.default.contents(atPath: url.path + "-journal")?.prefix(20) ?? Data()
            guard header.count == 20, header.starts(with: journal(pages: 0).prefix(8)) else { return nil }
            return header[16..<20].reduce(0) { $0 << 8 | Int($1) }
        }
    #endif

    /// Expects that a file can be opened as a store, again and again.
    private func expectStore(_ url: URL, _ what: String, location: SourceLocation = #_sourceLocation) async throws {
        for opening in 1...3 {
            let error = try await errorOfOpening(url)
            #expect(error == nil, "opening \(opening) after \(what)", sourceLocation: location)
        }
        #expect(try await errorOfReading(url, creatingJournal: true) == nil, "\(what)", sourceLocation: location)
        let rows = try plainRows(url, "PRAGMA auto_vacuum")
        #expect(rows == [[2]], "\(what)", sourceLocation: location)
    }

    private func errorOfReading(_ url: URL, creatingJournal: Bool = false) async throws -> StrataError? {
        var configuration = StoreConfiguration(isReadOnly: true)
        configuration.mayCreateJournal = creatingJournal
        return try await errorOfOpening(url, configuration)
    }

    // MARK: Files

    /// The journal of a transaction that had begun on a file with some pages, and had copied none of them.
    private func journal(pages: UInt8) -> Data {
        let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
        // The number of copied pages, a random number, the pages of the file, and the sizes of sectors and pages.
        let numbers: [UInt8] = [0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, pages, 0, 0, 2, 0, 0, 0, 16, 0]
        let header = Data(magic + numbers)
        return header + Data(repeating: 0, count: 512 - header.count)
    }

    @Test("A file whose first transaction has not ended becomes a store, also after a loss of power")
    func unfinished() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("store.sqlite")
        try Data(repeating: 0, count: 4096).write(to: url)
        try journal(pages: 0).write(to: folder.file("store.sqlite-journal"))
        let before = try folder.image()
        #expect(try await errorOfReading(url)?.code == .notAStore)
        #expect(try folder.image() == before)
        try await expectStore(url, "an unfinished transaction")
    }

    @Test(
        "A file whose contents are not those of an unfinished creation is refused and left unchanged",
        arguments: [0, 1]
    )
    func others(pages: UInt8) async throws {
        let folder = try ScratchFolder()
        let url = folder.file("x.sqlite")
        let other = folder.file("other.sqlite")
        try folder.sql(other, "CREATE TABLE wallet (coins)")
        let wallet = try Data(contentsOf: other)
        let store = try Data(contentsOf: try await folder.makeBank())
        try journal(pages: pages).write(to: folder.file("x.sqlite-journal"))
        // Other programs write many pages in their first transaction, and the first page at its end.
        let hole = Data(repeating: 0, count: 4096) + wallet
        for bytes in [wallet, wallet.prefix(4096), hole, Data("Dear diary".utf8), Data("x".utf8), Data([0, 1])] {
            try bytes.write(to: url)
            try await expectRefusal(url, in: folder, .notAStore)
        }
        guard pages == 0 else { return }
        // A store that was copied beside the journal of another file.
        try store.write(to: url)
        try await expectRefusal(url, in: folder, .cannotOpen)
    }

    @Test("The rest of a journal whose transaction has ended, or that was not written, says nothing")
    func ended() async throws {
        for rest in [Data(repeating: 0, count: 512), journal(pages: 0).prefix(100)] {
            let folder = try ScratchFolder()
            let url = try await folder.makeBank()
            try rest.write(to: folder.file("bank.sqlite-journal"))
            let stack = try await openBank(url)
            try await expectBalancedBooks(stack, last: 3)
            try await stack.close()
        }
    }
}
