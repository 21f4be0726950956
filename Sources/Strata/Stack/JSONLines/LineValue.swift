import Foundation

/// A value in a line of JSON.
enum LineValue {
    case null
    case bool(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case real(Double)
    case text(String)
    case texts([String])

    /// Numbers that JSON cannot represent, by the texts that represent them in lines.
    static let specialNumbers = ["Infinity": Double.infinity, "-Infinity": -Double.infinity]

    /// Encodes the value directly into its line. A container for each value would cost as much as the value.
    func encode(into line: inout KeyedEncodingContainer<PropertyKey>, _ key: PropertyKey) throws {
        switch self {
        case .null: try line.encodeNil(forKey: key)
        case .bool(let value): try line.encode(value, forKey: key)
        case .integer(let value): try line.encode(value, forKey: key)
        case .unsigned(let value): try line.encode(value, forKey: key)
        case .real(let value): try line.encode(value, forKey: key)
        case .text(let value): try line.encode(value, forKey: key)
        case .texts(let values): try line.encode(values, forKey: key)
        }
    }
}

/// A line of an export.
struct ExportLine: Encodable {
    var members: [(key: PropertyKey, value: LineValue)] = []

    func encode(to encoder: any Encoder) throws {
        var line = encoder.container(keyedBy: PropertyKey.self)
        for (key, value) in members { try value.encode(into: &line, key) }
    }
}

/// The keys of a line's model, id and version. Property names cannot begin with a dollar sign.
extension PropertyKey {
    static let model = PropertyKey(stringValue: "$model")
    static let id = PropertyKey(stringValue: "$id")
    static let version = PropertyKey(stringValue: "$version")
}

extension LineValue {
    /// The value of an attribute as a line contains it. The value of an external attribute is its bytes.
    ///
    /// - Parameter isUnsigned: whether the values are unsigned 64-bit integers, which may be stored as blobs.
    init(_ value: StoredValue, _ form: LineForm, isUnsigned: Bool) {
        switch value {
        case .null: self = .null
        case .integer(let number): self = form == .truth ? .bool(number != 0) : .integer(number)
        case .real(let number):
            if form == .date, let text = LineDate.text(number) {
                self = .text(text)
            } else if number.isInfinite, let special = Self.specialNumbers.first(where: { $0.value == number }) {
                self = .text(special.key)
            } else {
                self = .real(number)
            }
        case .text(let text): self = .text(text)
        case .blob(let data):
            if isUnsigned, let number = UInt64(storedValue: value) {
                self = .unsigned(number)
            } else if form == .uuid, let uuid = UUID(storedValue: value) {
                self = .text(uuid.uuidString)
            } else {
                self = .text(data.base64EncodedString())
            }
        }
    }
}
