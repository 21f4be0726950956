import Foundation

/// A value in a line of JSON.
enum LineValue: Encodable {
    case null
    case bool(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case real(Double)
    case text(String)
    case texts([String])

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        case .real(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .texts(let values): try container.encode(values)
        }
    }
}

/// The key of a property, or of the line's model, id or version.
struct LineKey: CodingKey, Hashable {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }

    // Property names cannot begin with a dollar sign.
    static let model = LineKey(stringValue: "$model")
    static let id = LineKey(stringValue: "$id")
    static let version = LineKey(stringValue: "$version")
}

extension ColumnSchema {
    private enum Form { case plain, truth, date, uuid, bytes }

    private var form: Form {
        switch heldType {
        case is Bool.Type: .truth
        case is Date.Type: .date
        case is UUID.Type: .uuid
        case is ExternalData.Type: .bytes
        default: .plain
        }
    }

    /// The value of the attribute as a line contains it. The value of an external attribute is its bytes.
    func lineValue(_ value: StoredValue) -> LineValue {
        switch value {
        case .null: return .null
        case .integer(let number): return form == .truth ? .bool(number != 0) : .integer(number)
        case .real(let number):
            if form == .date, let text = LineDate.text(number) { return .text(text) }
            return Self.specialNumbers.first { $0.value == number }.map { .text($0.key) } ?? .real(number)
        case .text(let text): return .text(text)
        case .blob(let data):
            if isUnsigned, let number = UInt64(storedValue: value) { return .unsigned(number) }
            if form == .uuid, let uuid = UUID(storedValue: value) { return .text(uuid.uuidString) }
            return .text(data.base64EncodedString())
        }
    }

    /// Numbers that JSON cannot represent.
    private static let specialNumbers = ["Infinity": Double.infinity, "-Infinity": -Double.infinity]

    /// Reads a non-null value of the attribute from a line.
    func storedValue(in line: KeyedDecodingContainer<LineKey>, _ key: LineKey) throws -> StoredValue {
        switch form {
        case .truth: return try line.decode(Bool.self, forKey: key).storedValue
        case .uuid: return try parse(line, key, "a UUID") { UUID(uuidString: $0)?.storedValue }
        case .bytes: return try parse(line, key, "Base64") { Data(base64Encoded: $0).map(StoredValue.blob) }
        case .date:
            if let number = try? line.decode(Double.self, forKey: key) { return .real(number) }
            return try parse(line, key, "a valid ISO 8601 date") {
                (LineDate.seconds($0) ?? Self.specialNumbers[$0]).map(StoredValue.real)
            }
        case .plain: break
        }
        switch type {
        case .integer where isUnsigned: return try line.decode(UInt64.self, forKey: key).storedValue
        case .integer: return .integer(try line.decode(Int64.self, forKey: key))
        case .text: return .text(try line.decode(String.self, forKey: key))
        case .blob: return try parse(line, key, "Base64") { Data(base64Encoded: $0).map(StoredValue.blob) }
        case .real:
            if let text = try? line.decode(String.self, forKey: key), let number = Self.specialNumbers[text] {
                return .real(number)
            }
            return .real(try line.decode(Double.self, forKey: key))
        }
    }

    private func parse(
        _ line: KeyedDecodingContainer<LineKey>,
        _ key: LineKey,
        _ kind: String,
        _ parse: (String) -> StoredValue?
    ) throws -> StoredValue {
        guard let value = parse(try line.decode(String.self, forKey: key)) else {
            throw DecodingError.dataCorruptedError(forKey: key, in: line, debugDescription: "The text is not \(kind).")
        }
        return value
    }
}
