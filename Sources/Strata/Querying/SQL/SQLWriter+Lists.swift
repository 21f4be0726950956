/// Lists of values after IN.
///
/// The number of different SQL texts stays bounded. Short lists are padded to 1, 2, 4, 8 or 16 parameters. Longer lists
/// are one parameter, a JSON array. JSON in SQLite does not support blobs, ends texts at a NUL and may round
/// floating-point numbers. A list with any of these is therefore written as texts that `strata_value` decodes exactly.
extension SQLWriter {
    mutating func list(_ values: [StoredValue]) -> String {
        var values = values
        if sources.hasSortedLists {
            values = values.map { (key: ListText.encode($0), value: $0) }.sorted { $0.key < $1.key }.map(\.value)
        }
        if values.count <= 16 {
            var count = 1
            while count < values.count { count *= 2 }
            let filling = repeatElement(values[values.count - 1], count: count - values.count)
            return (values + filling).map { bind($0) }.joined(separator: ", ")
        }
        let isPlain = values.allSatisfy { value in
            switch value {
            case .integer: true
            case .text(let text): !text.utf8.contains(0)
            default: false
            }
        }
        let column = isPlain ? "value" : "strata_value(value)"
        let json = isPlain ? ListText.json(values) : ListText.json(values.map { .text(ListText.encode($0)) })
        return "SELECT \(column) FROM json_each(\(bind(.text(json))))"
    }
}

/// Encodes values as JSON and as typed texts.
enum ListText {
    /// A JSON array of integers and texts.
    static func json(_ values: [StoredValue]) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "[")]
        for (index, value) in values.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            switch value {
            case .integer(let number): bytes += String(number).utf8
            case .text(let text): append(text, to: &bytes)
            default: bytes += "null".utf8
            }
        }
        bytes.append(UInt8(ascii: "]"))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The value as a text without NULs: a letter for its type, followed by digits.
    static func encode(_ value: StoredValue) -> String {
        switch value {
        case .null: "n"
        case .integer(let number): "i" + String(number)
        case .real(let number): "r" + String(number.bitPattern, radix: 16)
        case .text(let text): "t" + hex(text.utf8)
        case .blob(let data): "b" + hex(data)
        }
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            if byte < 0x20 {
                bytes += "\\u00".utf8
                bytes += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            } else {
                bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static let digits = Array("0123456789abcdef".utf8)

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        var result: [UInt8] = []
        for byte in bytes { result += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
        return String(decoding: result, as: UTF8.self)
    }
}
