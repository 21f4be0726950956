import Foundation
import Strata
import Testing

@testable import MirrorKit

/// The stored form of stamps. Stores of earlier versions contain JSON.
@Suite struct FileStampTests {
    static let stamps = [
        FileStamp(inode: 7, size: 100, modified: 1_795_392_000_123_456_789, changed: 1_795_392_000_987_654_321),
        FileStamp(inode: .max, size: .max, modified: .min, changed: -1), FileStamp.none,
    ]

    private static func json(_ stamp: FileStamp) throws -> String {
        String(decoding: try JSONEncoder().encode(stamp), as: UTF8.self)
    }

    @Test("A stamp is read from its numbers and from the JSON of earlier versions", arguments: stamps)
    func readsBothForms(_ stamp: FileStamp) throws {
        let json = try Self.json(stamp)
        #expect(FileStamp(storedValue: stamp.storedValue) == stamp)
        #expect(FileStamp(storedValue: .text(json)) == stamp)
    }

    @Test("A stamp is stored as its four numbers")
    func storedForm() {
        let stamp = FileStamp(inode: 7, size: 100, modified: -5, changed: 9)
        #expect(stamp.storedValue == .text("7 100 -5 9"))
    }

    @Test(
        "Other values are not stamps",
        arguments: [
            .text(""), .text("1 2 3"), .text("1 2 3 4 5"), .text("1  2 3"), .text("-1 2 3 4"), .text("1 2 3 x"),
            .text("1 2 3 9223372036854775808"), .text("{"), .text("{\"inode\":1}"), .blob(Data("1 2 3 4".utf8)),
            .integer(1), .null,
        ] as [StoredValue]
    )
    func otherValues(_ value: StoredValue) {
        #expect(FileStamp(storedValue: value) == nil)
    }

    @Test("A store of an earlier version is read, and a changed stamp gets the new form")
    func storeWithJSON() async throws {
        let (old, new) = (Self.stamps[0], Self.stamps[1])
        let stack = try await ContextStack.open(.inMemory, models: [MirrorEntry.self], stack: .rootOnly)
        let id = try await stack.write { context in context.insert(MirrorEntry(path: "a", stamp: old)).id }
        let json = try Self.json(old)
        try stack.transact(author: "test") { transaction in
            try transaction.run(
                "UPDATE \"MirrorEntry\" SET \"stamp\" = ?, \"_version\" = ?",
                [.text(json), .integer(transaction.number)]
            )
            try transaction.report(updated: id.rawValue, ["stamp"], of: MirrorEntry.self)
        }
        func texts() async throws -> [String] {
            try await stack.background { context in
                try context.values(String.self, "SELECT stamp FROM \(MirrorEntry.self)")
            }
        }
        #expect(try await texts() == [json])
        let known = try await stack.background { context in try context.rows(MirrorEntry.all).map { $0.stamp } }
        #expect(known == [old])
        try await stack.write { context in
            let entry = try #require(try context.find(id))
            entry.stamp = old
            #expect(!context.hasChanges)
            entry.digest = "digest"
        }
        #expect(try await texts() == [json])
        try await stack.write { context in try context.find(id)?.stamp = new }
        #expect(try await texts() == ["\(UInt64.max) \(Int64.max) \(Int64.min) -1"])
        try await stack.close()
    }
}
