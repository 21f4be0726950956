import Foundation
import GRDB
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Checks of a store", .aboutTheFile("damages the file"), .timeLimit(.minutes(1))) struct StoreCheckTests {
    /// Opens a bank, and damages it by statements of another program while it is open.
    private func findings(after statements: String...) async throws -> [StoreFinding] {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await openBank(url)
        let before = try await stack.check()
        #expect(before == [])
        let queue = try DatabaseQueue(path: url.path, configuration: .waiting)
        try await queue.writeWithoutTransaction { db in
            for statement in statements { try db.execute(sql: statement) }
        }
        try queue.close()
        let findings = try await stack.check()
        try await stack.close()
        return findings
    }

    @Test("A relationship to an object that does not exist is found")
    func references() async throws {
        let findings = try await findings(
            after: "UPDATE Leg SET account = 999999 WHERE id = (SELECT min(id) FROM Leg)"
        )
        #expect(findings.map(\.kind) == [.missingReference])
        #expect(findings.first?.subject == "Leg")
        #expect(findings.first?.message.contains("999999") == true)
    }

    @Test("A value that exists twice is found, even if its index is missing")
    func duplicates() async throws {
        let findings = try await findings(
            after: "DROP INDEX Account_name_unique",
            "UPDATE Account SET name = 'account 1' WHERE name = 'account 0'"
        )
        #expect(findings.map(\.kind) == [.duplicateValue])
        #expect(findings.first?.subject == "Account")
    }

    @Test("Rows of lost commits and unreadable changes are found")
    func history() async throws {
        let lost = try await findings(after: "UPDATE Account SET _version = 1000000 WHERE name = 'account 0'")
        #expect(lost.map(\.kind) == [.damagedHistory])
        let unreadable = try await findings(after: "UPDATE strata_history SET changes = x'FF' WHERE sequence = 1")
        #expect(unreadable.map(\.kind) == [.damagedHistory])
    }

    @Test("A damaged index is found")
    func damagedFile() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let queue = try DatabaseQueue(path: url.path, configuration: .waiting)
        let page = try await queue.read { db in
            try Int.fetchOne(db, sql: "SELECT rootpage FROM sqlite_schema WHERE name = 'Account_name_unique'")
        }
        try queue.close()
        let file = try FileHandle(forUpdating: url)
        // The contents of a page are at its end.
        try file.seek(toOffset: UInt64(try #require(page)) * 4096 - 60)
        try file.write(contentsOf: Data(repeating: 0, count: 60))
        try file.close()
        let stack = try await openBank(url)
        let findings = try await stack.check()
        #expect(findings.contains { $0.kind == .damagedFile }, "\(findings)")
        try await stack.close()
    }

    @Test("The number of findings has a limit")
    func limit() async throws {
        let folder = try ScratchFolder()
        let stack = try await openBank(try await folder.makeBank())
        try folder.sql(folder.file("bank.sqlite"), "UPDATE Account SET _version = 1000000")
        #expect(try await stack.check(limit: 2).count == 2)
        #expect(try await stack.check().count == 6)
        try await stack.close()
    }
}
