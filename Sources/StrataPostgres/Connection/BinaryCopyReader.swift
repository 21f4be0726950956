import Foundation
import Strata

/// Reads rows from the bytes of `COPY … TO STDOUT (FORMAT binary)`.
///
/// The manual of PostgreSQL describes the format (https://www.postgresql.org/docs/current/sql-copy.html): a header, the
/// rows, and a trailer. The bytes may be divided anywhere. Those of an incomplete part are kept, and are read once more
/// when others have arrived. The server sends each row in one message, so this is rare.
struct BinaryCopyReader {
    /// What the next bytes are.
    private enum Part {
        case header
        case rowOrTrailer
        case end
    }

    private let types: [PostgresColumnType]
    private var part = Part.header
    /// The first bytes of a part that is not complete.
    private var rest: [UInt8] = []

    /// - Parameter types: the types of the columns.
    init(_ types: [PostgresColumnType]) { self.types = types }

    /// Whether the trailer was read. Otherwise rows are missing.
    var isComplete: Bool { part == .end && rest.isEmpty }

    /// Reads the next bytes.
    ///
    /// - Parameters:
    ///   - bytes: any number of bytes, which follow the earlier ones.
    ///   - receive: called for each row that is complete.
    /// - Throws: `PostgresFailure` of the kind `format`, or the errors of `receive`.
    mutating func read(_ bytes: UnsafeRawBufferPointer, _ receive: ([StoredValue]) throws -> Void) throws {
        if rest.isEmpty {
            let count = try readParts(bytes, receive)
            rest.append(contentsOf: bytes[count...])
        } else {
            var joined = rest
            rest = []
            joined.append(contentsOf: bytes)
            let count = try joined.withUnsafeBytes { try readParts($0, receive) }
            joined.removeFirst(count)
            rest = joined
        }
    }

    /// Reads all parts that are complete. Returns the number of their bytes.
    private mutating func readParts(
        _ bytes: UnsafeRawBufferPointer,
        _ receive: ([StoredValue]) throws -> Void
    ) throws -> Int {
        var input = Input(bytes: bytes)
        var count = 0
        while count < bytes.count, try readPart(&input, receive) { count = input.position }
        return count
    }

    /// Reads one part. Returns false if bytes are missing.
    private mutating func readPart(_ input: inout Input, _ receive: ([StoredValue]) throws -> Void) throws -> Bool {
        switch part {
        case .header:
            guard try readHeader(&input) else { return false }
            part = .rowOrTrailer
        case .rowOrTrailer:
            guard let columnCount = input.integer(Int16.self) else { return false }
            if columnCount == Self.trailer {
                part = .end
            } else {
                guard columnCount == types.count else { throw Self.unexpected }
                guard let row = try row(&input) else { return false }
                try receive(row)
            }
        case .end: throw Self.unexpected
        }
        return true
    }

    private func readHeader(_ input: inout Input) throws -> Bool {
        guard let signature = input.take(Self.signature.count) else { return false }
        guard signature.elementsEqual(Self.signature) else { throw Self.unexpected }
        guard let flags = input.integer(UInt32.self), let extensionSize = input.integer(Int32.self) else {
            return false
        }
        // A reader may ignore the lower flags and the extension. A higher flag changes the format of the rows.
        guard flags <= UInt32(UInt16.max), extensionSize >= 0 else { throw Self.unexpected }
        return input.take(Int(extensionSize)) != nil
    }

    /// Reads the values of a row after their number. Returns nil if bytes are missing.
    private func row(_ input: inout Input) throws -> [StoredValue]? {
        var row: [StoredValue] = []
        row.reserveCapacity(types.count)
        for type in types {
            guard let size = input.integer(Int32.self) else { return nil }
            if size == Self.null {
                row.append(.null)
            } else {
                guard size >= 0 else { throw Self.unexpected }
                guard let bytes = input.take(Int(size)) else { return nil }
                row.append(try type.value(bytes))
            }
        }
        return row
    }

    private static let signature = Array("PGCOPY\n".utf8) + [0xFF] + Array("\r\n".utf8) + [0]
    /// The number of columns that ends the rows.
    private static let trailer: Int16 = -1
    /// The size of NULL.
    private static let null: Int32 = -1

    private static let unexpected = PostgresFailure(
        .format,
        "the server's answer to COPY does not have the binary format, or has other columns than the table"
    )
}

extension BinaryCopyReader {
    /// Bytes that are read from their beginning.
    private struct Input {
        let bytes: UnsafeRawBufferPointer
        private(set) var position = 0

        init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

        /// The next bytes; nil if there are fewer.
        mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
            guard count <= bytes.count - position else { return nil }
            defer { position += count }
            return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
        }

        /// The next number, which begins with its highest byte; nil if bytes are missing.
        mutating func integer<Value: FixedWidthInteger & BitwiseCopyable>(_ type: Value.Type) -> Value? {
            guard let number = take(MemoryLayout<Value>.size) else { return nil }
            return Value(bigEndian: number.loadUnaligned(as: Value.self))
        }
    }
}
