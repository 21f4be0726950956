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
            var kills = 0
            for entry in last.dropFirst("done ".count).split(separator: ",") {
                let parts = entry.split(separator: "=")
                let (kind, count) = (String(parts[0]), try #require(Int(parts[1])))
                for number in 0..<count {
                    let step = "\(kind) \(number + 1)"
                    let child = try HelperProcess("create", folder.file("\(step).sqlite").path, "\(number + 1)", kind)
                    _ = await child.end()
                    // The background thread that reserves ids may come later than in the run that was counted.
                    guard child.endingSignal == SIGKILL else { continue }
                    kills += 1
                    try await expectStore(folder.file("\(step).sqlite"), step)
                }
            }
            // Among them are all writes and flushes of the first transaction, before and after the file itself.
            #expect(kills > 20, "\(last)")
        }
    #endif

    /// Expects that a file can be opened as a store, again and again.
    private func expectStore(_ url: URL, _ what: String, location: SourceLocation = #_sourceLocation) async throws {
        // Reading changes nothing, so a file that has no models yet may be refused.
        if let error = await errorOfReading(url) {
            let codes: [StrataError.Code] = [.notAStore, .cannotOpen]
            #expect(codes.contains(error.code), "\(what): \(error)", sourceLocation: location)
        }
        for opening in 1...3 {
            let error = try await errorOfOpening(url)
            #expect(error == nil, "opening \(opening) after \(what)", sourceLocation: location)
        }
        #expect(await errorOfReading(url, creatingJournal: true) == nil, "\(what)", sourceLocation: location)
    }

    private func errorOfReading(_ url: URL, creatingJournal: Bool = false) async -> StrataError? {
        var configuration = StoreConfiguration(isReadOnly: true)
        configuration.mayCreateJournal = creatingJournal
        do {
            let stack = try await ContextStack.open(
                .sqlite(url),
                models: Bank.models,
                stack: .rootOnly,
                configuration: configuration
            )
            try await stack.close()
            return nil
        } catch {
            return error as? StrataError ?? StrataError(.invalidState, "\(error)")
        }
    }

    // MARK: Files

    /// The journal of a transaction that had begun on a file with some pages, and had copied none of them.
    private func journal(pages: UInt8, _ end: [UInt8] = []) -> Data {
        let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
        // The number of copied pages, a random number, the pages of the file, and the sizes of sectors and pages.
        let numbers: [UInt8] = [0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, pages, 0, 0, 2, 0, 0, 0, 16, 0]
        let header = Data(magic + numbers)
        return header + Data(repeating: 0, count: 512 - header.count) + Data(end)
    }

    @Test(
        "A file whose first transaction has not ended becomes a store, whatever bytes it has",
        arguments: [
            Data(repeating: 0, count: 4096), Data("SQLite format 3\0".utf8), Data(repeating: 0xA5, count: 8192),
        ]
    )
    func unfinished(bytes: Data) async throws {
        let folder = try ScratchFolder()
        let url = folder.file("store.sqlite")
        try bytes.write(to: url)
        try journal(pages: 0).write(to: folder.file("store.sqlite-journal"))
        let before = try folder.image()
        #expect(await errorOfReading(url)?.code == .notAStore)
        #expect(try folder.image() == before)
        try await expectStore(url, "an unfinished transaction")
    }

    @Test("A file is judged by its bytes if its journal says that it had pages, or if the journal has ended")
    func others() async throws {
        for (name, journal) in [("pages", journal(pages: 1)), ("ended", Data(repeating: 0, count: 512))] {
            let folder = try ScratchFolder()
            let url = folder.file("\(name).sqlite")
            try folder.sql(url, "CREATE TABLE wallet (coins)")
            try journal.write(to: folder.file("\(name).sqlite-journal"))
            try await expectRefusal(url, in: folder, .notAStore)
        }
    }

    /// SQLite removes the journal of one of several files instead of applying it if the transaction on all of them has
    /// ended. The header of that journal does not say so.
    @Test("A database of another program is left as it is if SQLite does not empty it after all")
    func severalFiles() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("wallet.sqlite")
        try folder.sql(url, "CREATE TABLE wallet (coins)")
        let bytes = try Data(contentsOf: url)
        let name = Array(folder.file("missing-mj").path.utf8)
        func number(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
        let sum = name.reduce(0) { $0 + Int($1) }
        let end = number(1 << 18 + 1) + name + number(name.count) + number(sum) + journal(pages: 0).prefix(8)
        try journal(pages: 0, end).write(to: folder.file("wallet.sqlite-journal"))
        #expect(try await errorOfOpening(url)?.code == .notAStore)
        #expect(try Data(contentsOf: url) == bytes)
    }
}
