import Foundation
import HomeSuite
import Testing

@testable import Strata

@Suite("The changes of a transaction of a home", .timeLimit(.minutes(1))) struct HomeChangesTests {
    private struct ChangedRow: Hashable {
        let table: String
        let change: HomeChanges.Change
    }

    /// Changes of rows in both tables, and the rows as they must be read.
    private static func sample() throws -> (bytes: Data, rows: Set<ChangedRow>) {
        let store = try SampleStore()
        let other = SampleStore.description.tables[1]
        let texts = other.columns.dropFirst().map { StoredValue.text($0.name) }
        let large = String(repeating: "é", count: 200)
        _ = try store.changes {
            try store.insert([.integer(1), .integer(.min), .real(0.5), .text("a"), .blob(Data())])
            try store.insert([.integer(2), .null, .real(-.infinity), .text(""), .blob(Data([0, 1]))])
        }
        let changes = try store.changes {
            try store.update(1, [("size", .real(1)), ("name", .null)])
            try store.delete(2)
            try store.insert([.integer(3), .integer(.max), .real(.infinity), .text(large), .blob(Data(0...255))])
            try store.insert([.integer(1)] + texts, into: other.name)
        }
        let rows: [ChangedRow] = [
            ChangedRow(
                table: "Item",
                change: .update(
                    before: [.integer(1), nil, .real(0.5), .text("a"), nil],
                    after: [nil, nil, .real(1), .null, nil]
                )
            ),
            ChangedRow(
                table: "Item",
                change: .delete([.integer(2), .null, .real(-.infinity), .text(""), .blob(Data([0, 1]))])
            ),
            ChangedRow(
                table: "Item",
                change: .insert([.integer(3), .integer(.max), .real(.infinity), .text(large), .blob(Data(0...255))])
            ),
            ChangedRow(table: other.name, change: .insert([.integer(1)] + texts)),
        ]
        return (changes.bytes, Set(rows))
    }

    /// Reads the rows up to the first damage.
    private func read(_ bytes: Data) -> (rows: [ChangedRow], error: StrataError.Code?) {
        var rows: [ChangedRow] = []
        do {
            try HomeChanges(bytes: bytes).forEach { rows.append(ChangedRow(table: $0, change: $1)) }
            return (rows, nil)
        } catch {
            return (rows, (error as? StrataError)?.code ?? StrataError.Code("\(error)"))
        }
    }

    @Test("All changed rows are read, with their values before and after")
    func rows() throws {
        let (bytes, expected) = try Self.sample()
        let (rows, error) = read(bytes)
        #expect(error == nil)
        #expect(rows.count == expected.count)
        #expect(Set(rows) == expected)
        #expect(read(Data()).rows.isEmpty && read(Data()).error == nil)
    }

    @Test("A part of a larger block of bytes is read like separate bytes")
    func slice() throws {
        let (bytes, _) = try Self.sample()
        let slice = (Data([1, 2, 3]) + bytes + Data([4, 5, 6])).dropFirst(3).dropLast(3)
        #expect(slice.startIndex == 3)
        #expect(read(slice).rows == read(bytes).rows && read(slice).error == nil)
    }

    @Test("Changes that are cut end after a whole row or throw damagedStore, for each length")
    func cut() throws {
        let (bytes, _) = try Self.sample()
        let all = read(bytes).rows
        var whole = 0
        for length in 0...bytes.count {
            // A copy of this length, so that the address sanitizer finds reads beyond its end.
            let (rows, error) = read(Data([UInt8](bytes.prefix(length))))
            #expect(rows == Array(all.prefix(rows.count)), "\(length) bytes")
            #expect(error == nil || error == .damagedStore, "\(length) bytes")
            if error == nil { whole += 1 }
        }
        // Without any byte, after the header of each of the two tables, and after each row.
        #expect(whole == 1 + 2 + all.count)
    }

    @Test("A wrong byte changes the values, or throws damagedStore, for each byte")
    func wrongByte() throws {
        let (bytes, _) = try Self.sample()
        for index in 0..<bytes.count {
            for byte in [0, 1, 3, 5, UInt8(ascii: "P"), UInt8(ascii: "T"), 0x7F, 0x80, 0xFF] {
                var damaged = [UInt8](bytes)
                damaged[index] = byte
                let error = read(Data(damaged)).error
                #expect(error == nil || error == .damagedStore, "byte \(byte) at \(index)")
            }
        }
    }

    @Test("A body that throws ends the reading with its error")
    func throwingBody() throws {
        struct Stop: Error {}
        let (bytes, _) = try Self.sample()
        var count = 0
        #expect(throws: Stop.self) {
            try HomeChanges(bytes: bytes).forEach { _, _ in
                count += 1
                throw Stop()
            }
        }
        #expect(count == 1)
    }
}
