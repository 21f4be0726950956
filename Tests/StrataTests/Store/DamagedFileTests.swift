import Foundation
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Damaged store files", .aboutTheFile("damages the file")) struct DamagedFileTests {
    /// Opens the store, reads everything in it and writes to it.
    private func useEverything(_ url: URL) async throws {
        let stack = try await openBank(url)
        do {
            try await stack.on(.root) { context in
                _ = try Bank.audit(context)
                _ = try Bank.transfer(1, in: context)
            }
        } catch {
            try? await stack.close()
            throw error
        }
        try await stack.close()
    }

    private func errorOfUse(_ url: URL) async throws -> StrataError? {
        do {
            try await useEverything(url)
            return nil
        } catch let error as StrataError {
            return error
        }
    }

    @Test("Overwritten pages are reported as an error")
    func pages() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank(transfers: 12)
        var bytes = try Data(contentsOf: url)
        bytes.replaceSubrange(4096..., with: Data(repeating: 0xA5, count: bytes.count - 4096))
        try bytes.write(to: url)
        #expect(try await errorOfUse(url)?.code == .damagedStore)
        #expect(try Data(contentsOf: url) == bytes)
    }

    @Test(
        "A damaged field of the header is reported, and the file stays as it was",
        arguments: [
            (16, 0xFF), (17, 0x03), (18, 0x07), (19, 0x00), (20, 0xFF), (21, 0x00), (23, 0x99), (44, 0x80), (47, 5),
        ]
    )
    func header(offset: Int, value: Int) async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        var bytes = try Data(contentsOf: url)
        bytes[offset] = UInt8(value)
        // A reserved part of each page is allowed, unless it leaves too little.
        if offset == 20 { bytes.replaceSubrange(16..<18, with: [2, 0]) }
        try bytes.write(to: url)
        try await expectRefusal(url, in: folder, .damagedStore)
    }

    @Test("A truncated file is reported as an error")
    func truncated() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank(transfers: 12)
        let bytes = try Data(contentsOf: url)
        for count in [100, 4096, 4097, bytes.count / 2, bytes.count - 8192] {
            try bytes.prefix(count).write(to: url)
            #expect(try await errorOfUse(url)?.code == .damagedStore, "cut to \(count) bytes of \(bytes.count)")
        }
    }

    @Test(
        "A store whose own bookkeeping row is missing or invalid is refused",
        arguments: [
            "DELETE FROM strata_store", "DELETE FROM strata_history",
            "DELETE FROM strata_history; INSERT INTO strata_history VALUES (-1, 0, NULL, 0, NULL, 0)",
            "INSERT INTO strata_history VALUES (9223372036854775807, 0, NULL, 0, NULL, 0)",
            "UPDATE strata_store SET next_id = -5", "UPDATE strata_store SET next_id = 9223372036854775807",
            "UPDATE strata_store SET next_id = 0", "UPDATE strata_store SET next_id = 281474976710656",
        ]
    )
    func ownRow(statement: String) async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        try folder.sql(url, statement)
        try await expectRefusal(url, in: folder, .damagedStore)
    }

    @Test("A store whose fingerprint or place was changed opens like a copy")
    func fingerprint() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        try folder.sql(url, "UPDATE strata_store SET fingerprint = -7, place = 'nowhere'")
        let stack = try await openBank(url)
        try await expectBalancedBooks(stack, last: 3)
        try await stack.close()
    }

    @Test("Random bytes changed in the store file cause nothing but a StrataError (seed: STRATA_SEED)")
    func randomBytes() async throws {
        let seed = SeededGenerator.seed
        var random = SeededGenerator(seed: seed)
        let folder = try ScratchFolder()
        let url = try await folder.makeBank(transfers: 12)
        let whole = try Data(contentsOf: url)
        var refused = 0
        for round in 0..<60 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...40, using: &random) {
                // The first bytes of pages hold their structure, so they are hit more often.
                let page = Int.random(in: 0..<(bytes.count / 4096), using: &random) * 4096
                let offset = Int.random(in: 0..<(Bool.random(using: &random) ? 100 : 4096), using: &random)
                bytes[page + offset] = UInt8.random(in: 0...255, using: &random)
            }
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: url.path + suffix) }
            try bytes.write(to: url)
            // Any error other than a StrataError fails the test. Damage within a value looks like another value.
            do {
                if try await errorOfUse(url) != nil { refused += 1 }
            } catch {
                Issue.record("seed \(seed), round \(round): \(error)")
            }
        }
        #expect(refused > 0, "seed \(seed)")
    }

    @Test("A damaged journal loses all commits from the damage on, and never half a commit (seed: STRATA_SEED)")
    func journal() async throws {
        let seed = SeededGenerator.seed
        var random = SeededGenerator(seed: seed)
        let folder = try ScratchFolder()
        let url = try await folder.makeBank("living.sqlite")
        let living = try await openBank(url)
        try await living.on(.root) { context in
            for _ in 0..<5 { _ = try Bank.transfer(1, in: context) }
        }
        let (store, journal) = (
            try Data(contentsOf: url), try Data(contentsOf: URL(fileURLWithPath: url.path + "-wal"))
        )
        try await living.close()
        for round in 0..<20 {
            let crashed = folder.file("crashed \(round).sqlite")
            var damaged = journal
            if round.isMultiple(of: 2) {
                damaged[Int.random(in: 0..<damaged.count, using: &random)] ^= 0x55
            } else {
                damaged = damaged.prefix(Int.random(in: 0..<damaged.count, using: &random))
            }
            try store.write(to: crashed)
            try damaged.write(to: URL(fileURLWithPath: crashed.path + "-wal"))
            let stack = try await openBank(crashed)
            let audit = try await stack.on(.root) { try Bank.audit($0) }
            #expect(audit.faults == [] && (3...8).contains(audit.last), "seed \(seed), round \(round)")
            _ = try await stack.on(.root) { try Bank.transfer(1, in: $0) }
            try await expectBalancedBooks(stack, last: audit.last + 1)
            try await stack.close()
        }
    }
}
