import Foundation

/// The encoding of ``CommitChanges`` in the store, version 1.
///
/// The first byte is the version. The number of tables follows, and then for each table, in the order of names:
/// - its name,
/// - the runs of inserted rows, and the runs of deleted rows,
/// - the number of sets of updated columns,
/// - for each set, the number of columns, their names, and the runs of rows.
///
/// Runs begin with their number. Each run has two numbers. The first is the distance of its first row from the last row
/// of the previous run (from 0 for the first run). The second is the number of rows after its first row. Numbers are
/// unsigned LEB128, see section 7.6 of https://dwarfstd.org/doc/DWARF5.pdf. Texts are the number of their bytes,
/// followed by the bytes in UTF-8.
extension CommitChanges {
    private static let version: UInt8 = 1

    var encoded: Data {
        var bytes: [UInt8] = [Self.version]
        bytes.append(UInt64(tables.count))
        for (table, changes) in tables.sorted(by: { $0.key < $1.key }) {
            bytes.append(table)
            bytes.append(changes.inserted)
            bytes.append(changes.deleted)
            bytes.append(UInt64(changes.updated.count))
            for (columns, runs) in changes.updated.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                bytes.append(UInt64(columns.count))
                for column in columns { bytes.append(column) }
                bytes.append(runs)
            }
        }
        return Data(bytes)
    }

    /// Decodes changes. Nil if the bytes are damaged, or have a version that is not known here.
    init?(encoded: Data) {
        var bytes = ByteReader(encoded)
        guard bytes.byte() == Self.version, let tableCount = bytes.count() else { return nil }
        for _ in 0..<tableCount {
            guard let table = bytes.text(), let inserted = bytes.runs(), let deleted = bytes.runs(),
                let setCount = bytes.count()
            else { return nil }
            var changes = TableChanges(inserted: inserted, deleted: deleted)
            for _ in 0..<setCount {
                guard let columnCount = bytes.count() else { return nil }
                var columns: [String] = []
                for _ in 0..<columnCount {
                    guard let column = bytes.text() else { return nil }
                    columns.append(column)
                }
                guard let runs = bytes.runs() else { return nil }
                changes.updated[columns] = runs
            }
            tables[table] = changes
        }
        guard bytes.isAtEnd else { return nil }
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    fileprivate mutating func append(_ text: String) {
        append(UInt64(text.utf8.count))
        append(contentsOf: text.utf8)
    }

    fileprivate mutating func append(_ runs: IDRanges) {
        append(UInt64(runs.ranges.count))
        var end: Int64 = 0
        for run in runs.ranges {
            append(UInt64(run.lowerBound - end))
            append(UInt64(run.upperBound - run.lowerBound))
            end = run.upperBound
        }
    }
}

/// Reads bytes that may be damaged. Missing data gives nil, and so does a count that exceeds the remaining bytes.
private struct ByteReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ data: Data) { bytes = [UInt8](data) }

    var isAtEnd: Bool { position == bytes.count }

    mutating func byte() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func number() -> Int64? {
        var result: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 63, by: 7) {
            guard let byte = byte() else { return nil }
            result |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return Int64(exactly: result) }
        }
        return nil
    }

    /// The number of the following items, each of which has at least one byte.
    mutating func count() -> Int? {
        guard let number = number(), number <= bytes.count - position else { return nil }
        return Int(number)
    }

    mutating func text() -> String? {
        guard let count = count() else { return nil }
        defer { position += count }
        return String(validating: bytes[position..<(position + count)], as: UTF8.self)
    }

    mutating func runs() -> IDRanges? {
        guard let count = count() else { return nil }
        var result = IDRanges()
        var end: Int64 = 0
        for index in 0..<count {
            guard let gap = number(), let rest = number(), index == 0 || gap > 0 else { return nil }
            let (first, isTooLarge) = end.addingReportingOverflow(gap)
            let (last, isEndTooLarge) = first.addingReportingOverflow(rest)
            // Ids have 48 bits. A larger number is not an id, and loops over such a run would never end.
            guard !isTooLarge, !isEndTooLarge, last < 1 << 48 else { return nil }
            result.append(first...last)
            end = last
        }
        return result
    }
}
