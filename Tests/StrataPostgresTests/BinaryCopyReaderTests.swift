import Foundation
import Strata
import Testing

@testable import StrataPostgres

@Suite("The binary format of COPY") struct BinaryCopyReaderTests {
    private static let types: [PostgresColumnType] = [.integer, .real, .text, .bytes]
    private static let rows: [[StoredValue]] = [
        [.integer(.min), .real(-0.5), .text("Straße"), .blob(Data([0, 255]))],
        [.integer(0), .null, .text(""), .blob(Data())],
        [.integer(.max), .real(.infinity), .null, .null],
    ]

    /// The bytes that a server sends.
    ///
    /// - Parameter extensionSize: the size of the part of the header that readers ignore.
    private static func bytes(flags: UInt32 = 0, extensionSize: Int = 0) -> [UInt8] {
        var bytes = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00]
        append(flags, to: &bytes)
        append(Int32(extensionSize), to: &bytes)
        bytes += [UInt8](repeating: 1, count: extensionSize)
        for row in rows {
            append(Int16(row.count), to: &bytes)
            for value in row { append(value, to: &bytes) }
        }
        append(Int16(-1), to: &bytes)
        return bytes
    }

    private static func append(_ value: StoredValue, to bytes: inout [UInt8]) {
        var content: [UInt8] = []
        switch value {
        case .null: return append(Int32(-1), to: &bytes)
        case .integer(let number): append(number, to: &content)
        case .real(let number): append(number.bitPattern, to: &content)
        case .text(let text): content = Array(text.utf8)
        case .blob(let data): content = Array(data)
        }
        append(Int32(content.count), to: &bytes)
        bytes += content
    }

    private static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
    }

    /// Reads bytes in messages of a size.
    private static func read(
        _ bytes: [UInt8],
        messageSize: Int = .max,
        types: [PostgresColumnType] = BinaryCopyReaderTests.types
    ) throws -> (rows: [[StoredValue]], isComplete: Bool) {
        var reader = BinaryCopyReader(types)
        var rows: [[StoredValue]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let message = Array(rest.prefix(messageSize))
            rest = rest.dropFirst(message.count)
            try message.withUnsafeBytes { try reader.read($0) { rows.append($0) } }
        }
        return (rows, reader.isComplete)
    }

    @Test("Rows are read from messages of any size")
    func messages() throws {
        for bytes in [Self.bytes(), Self.bytes(flags: 1, extensionSize: 5)] {
            for size in Array(1...40) + [bytes.count] {
                let found = try Self.read(bytes, messageSize: size)
                #expect(found.rows == Self.rows, "messages of \(size) bytes")
                #expect(found.isComplete, "messages of \(size) bytes")
            }
        }
    }

    @Test("Bytes that end early are not complete, and all rows before are read")
    func cuts() throws {
        let bytes = Self.bytes()
        for count in 0..<bytes.count {
            let found = try Self.read(Array(bytes.prefix(count)))
            #expect(!found.isComplete, "\(count) bytes")
            #expect(found.rows == Array(Self.rows.prefix(found.rows.count)), "\(count) bytes")
        }
        // Only the trailer is missing.
        let withoutTrailer = try Self.read(Array(bytes.dropLast(2)))
        #expect(withoutTrailer.rows == Self.rows)
    }

    @Test("Other formats, other columns and bytes after the end are refused")
    func refusals() throws {
        var wrongSignature = Self.bytes()
        wrongSignature[0] = 0
        var negativeSize = Self.bytes()
        // The size of the first value comes after the header of 19 bytes and the number of columns.
        negativeSize.replaceSubrange(21..<25, with: [0xFF, 0xFF, 0xFF, 0xFE])
        let shortNumber: [PostgresColumnType] = [.integer, .real, .integer, .bytes]
        let cases: [(name: String, bytes: [UInt8], types: [PostgresColumnType])] = [
            ("signature", wrongSignature, Self.types), ("object ids", Self.bytes(flags: 1 << 16), Self.types),
            ("a negative size", negativeSize, Self.types), ("fewer columns", Self.bytes(), [.integer]),
            ("another type", Self.bytes(), shortNumber), ("bytes after the end", Self.bytes() + [0], Self.types),
        ]
        for (name, bytes, types) in cases {
            let failure = #expect(throws: PostgresFailure.self, "\(name)") { _ = try Self.read(bytes, types: types) }
            #expect(failure?.kind == .format, "\(name)")
        }
    }
}
