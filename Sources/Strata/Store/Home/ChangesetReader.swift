import CStrataSQLite
import Foundation

/// Reads the changed rows from the bytes of a changeset.
///
/// The bytes come from another machine, so each length is checked before it is used. SQLite's own reader trusts the
/// bytes: if they end in the name of a table, `sqlite3changeset_next` of SQLite 3.40 never returns.
///
/// The layout is the one of [changesets](https://www.sqlite.org/session/changesetformat.html). Patchsets are refused.
struct ChangesetReader {
    private let bytes: UnsafeRawBufferPointer
    private var offset = 0
    private var table = ""
    /// The number of the table's columns; 0 before the first table.
    private var columns = 0

    /// - Parameter bytes: must stay valid while the reader is used.
    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// The next row, or nil after the last one.
    ///
    /// - Throws: `damagedStore`. The reader must not be used afterwards.
    mutating func next() throws -> (table: String, change: HomeChanges.Change)? {
        while offset < bytes.count {
            let code = try byte()
            if code == UInt8(ascii: "T") {
                try readTable()
                continue
            }
            // The next byte says whether a trigger has made the change.
            _ = try byte()
            switch Int32(code) {
            case SQLITE_INSERT: return (table, .insert(try row()))
            case SQLITE_DELETE: return (table, .delete(try row()))
            case SQLITE_UPDATE:
                let before = try values()
                return (table, .update(before: before, after: try values()))
            default: throw damaged()
            }
        }
        return nil
    }

    private mutating func readTable() throws {
        columns = try count()
        // One byte for each column says whether the column is part of the primary key.
        _ = try take(columns)
        guard let end = bytes[offset...].firstIndex(of: 0) else { throw damaged() }
        table = String(decoding: try take(end - offset), as: UTF8.self)
        offset += 1
    }

    /// The values of all columns.
    private mutating func row() throws -> [StoredValue] {
        try values().map { value in
            guard let value else { throw damaged() }
            return value
        }
    }

    private mutating func values() throws -> [StoredValue?] {
        guard columns > 0 else { throw damaged() }
        var values: [StoredValue?] = []
        values.reserveCapacity(columns)
        for _ in 0..<columns { values.append(try value()) }
        return values
    }

    /// The value of a column; nil if the record does not contain the column.
    private mutating func value() throws -> StoredValue? {
        switch Int32(try byte()) {
        case 0: return nil
        case SQLITE_INTEGER: return .integer(Int64(bitPattern: try word()))
        case SQLITE_FLOAT: return .real(Double(bitPattern: try word()))
        case SQLITE_TEXT: return .text(String(decoding: try take(count()), as: UTF8.self))
        case SQLITE_BLOB: return .blob(Data(try take(count())))
        case SQLITE_NULL: return .null
        default: throw damaged()
        }
    }

    private mutating func byte() throws -> UInt8 {
        guard offset < bytes.count else { throw damaged() }
        defer { offset += 1 }
        return bytes[offset]
    }

    private mutating func word() throws -> UInt64 {
        UInt64(bigEndian: try take(MemoryLayout<UInt64>.size).loadUnaligned(as: UInt64.self))
    }

    /// A number of bytes that follow: at most five bytes with seven bits each, the highest bits first. Each byte except
    /// the last one has its highest bit set.
    private mutating func count() throws -> Int {
        var count = 0
        for _ in 0..<5 {
            let next = try byte()
            count = count << 7 | Int(next & 0x7F)
            if next < 0x80 { return count }
        }
        throw damaged()
    }

    private mutating func take(_ count: Int) throws -> UnsafeRawBufferPointer {
        guard count <= bytes.count - offset else { throw damaged() }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }

    private func damaged() -> StrataError {
        StrataError(
            .damagedStore,
            "The changes of a transaction of the store's home are damaged at byte \(offset) of \(bytes.count)."
        )
    }
}
