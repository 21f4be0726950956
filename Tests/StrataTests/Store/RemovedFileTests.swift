import Foundation
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

@Suite(
    "A store file that is removed or replaced while its stack is open",
    .aboutTheFile("removes or replaces the file")
) struct RemovedFileTests {
    private func remove(_ url: URL) throws {
        for suffix in ["", "-wal", "-shm", "-turn"] { try? FileManager.default.removeItem(atPath: url.path + suffix) }
    }

    @Test("After the file is removed, work continues or throws, close drains, and the file does not come back")
    func removed() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await openBank(url)
        let root = try stack[.root]
        _ = try await stack.on(.root) { try Bank.audit($0) }
        try remove(url)
        // A second reader finds no file to open. Every error is a StrataError, and nothing traps or hangs.
        do {
            try await stack.on(.root) { context in
                _ = try Bank.audit(context)
                _ = try Bank.transfer(1, in: context)
            }
            _ = try await stack.background { try Bank.audit($0) }
            _ = try await stack.on(.root) { _ in try stack.newID(for: Account.self) }
        } catch is StrataError {}
        stack.saveLater(.root)
        try await stack.close()
        let error = await #expect(throws: StrataError.self) { try await root.perform { _ = $0.hasChanges } }
        #expect(error?.code == .closed)
        #expect(try folder.image().isEmpty)
    }

    @Test("Readers refuse a replaced file, and nothing loops forever")
    func replaced() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let older = folder.file("older.sqlite")
        try FileManager.default.copyItem(at: url, to: older)
        let stack = try await openBank(url)
        _ = try await stack.on(.root) { try Bank.transfer(1, in: $0) }
        try remove(url)
        try FileManager.default.copyItem(at: older, to: url)
        let bytes = try Data(contentsOf: url)
        // The first blocks borrow the open readers, one or two. The blocks inside them need new readers.
        @Sendable func look(_ depth: Int) async throws {
            try await stack.background { context async throws in
                _ = try Bank.audit(context)
                if depth > 0 { try await look(depth - 1) }
            }
        }
        let error = await #expect(throws: StrataError.self) { try await look(5) }
        #expect(error?.code == .damagedStore)
        try await stack.close()
        #expect(try Data(contentsOf: url) == bytes)
        let fresh = try await openBank(url)
        try await expectBalancedBooks(fresh, last: 3)
        try await fresh.close()
    }

    @Test("Reading and committing throw if the store was set back by hand")
    func setBack() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await openBank(url)
        try await stack.on(.root) { _ = try Bank.transfer(1, in: $0) }
        try folder.sql(url, "DELETE FROM strata_history WHERE sequence > 1")
        let reading = await #expect(throws: StrataError.self) { try await stack.background { _ = try Bank.audit($0) } }
        #expect(reading?.code == .damagedStore)
        let writing = await #expect(throws: StrataError.self) {
            try await stack.background { context in
                context.insert(Account(name: "late", balance: 0))
                try context.commit()
            }
        }
        #expect(writing?.code == .damagedStore)
        try await stack.close()
    }
}
