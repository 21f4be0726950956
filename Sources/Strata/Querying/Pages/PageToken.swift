import Foundation

/// A position in the order of a query: directly before or after an object.
///
/// The pages of a query have tokens: ``QueryPage/next`` and ``QueryPage/previous``. A token contains the values by which
/// the query sorts the object, and the object's id. It therefore stays valid when objects are inserted or deleted, even
/// if its own object is deleted.
///
/// A token belongs to one query: to the model, the conditions and the order, including all values in them. Calls with
/// another query throw ``StrataError/Code/invalidToken``.
///
/// The text form contains only letters, digits, `-` and `_`, so it can be a part of a URL. It is neither secret nor
/// signed: its reader can decode the sort values. A forged token is another position in the same query.
///
/// Isolation: a value, usable anywhere.
public struct PageToken: Sendable, Hashable {
    /// The values by which the object is sorted. The last one is the id.
    let values: [StoredValue]
    /// Whether the position is after the object. Otherwise it is before the object.
    let isAfter: Bool
    /// A hash of the query and the other properties.
    private let checksum: UInt64

    /// - Parameter query: the hash of the query.
    init(_ values: [StoredValue], isAfter: Bool, of query: StableHash) {
        self.values = values
        self.isAfter = isAfter
        checksum = Self.checksum(Self.content(values, isAfter), query)
    }

    /// Whether the token is undamaged and belongs to the query with this hash.
    func isOf(_ query: StableHash) -> Bool { checksum == Self.checksum(Self.content(values, isAfter), query) }

    static var invalidError: StrataError {
        StrataError(
            .invalidToken,
            "The page token is damaged, or belongs to a query with another model, condition or order, or with other "
                + "values in them. Start at the first page."
        )
    }

    private static func content(_ values: [StoredValue], _ isAfter: Bool) -> [UInt8] {
        var bytes: [UInt8] = [isAfter ? 1 : 0]
        for value in values { value.append(to: &bytes) }
        return bytes
    }

    private static func checksum(_ content: [UInt8], _ query: StableHash) -> UInt64 {
        var hash = query
        hash.combine(content)
        return hash.value
    }
}

extension PageToken: LosslessStringConvertible {
    /// The version of the text form: its first byte.
    private static let version: UInt8 = 1

    /// The text form: the version, the checksum and the content in Base64, with `-` and `_`, without padding.
    public var description: String {
        var bytes = [Self.version]
        bytes.appendNumber(checksum)
        bytes += Self.content(values, isAfter)
        return Data(bytes).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Parses a ``description``. Nil if the text has another form.
    public init?(_ description: String) {
        let text = description.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: -text.utf8.count & 3)
        guard let data = Data(base64Encoded: text + padding) else { return nil }
        var bytes = [UInt8](data)[...]
        guard bytes.popFirst() == Self.version, let checksum = bytes.removeNumber(), let side = bytes.popFirst() else {
            return nil
        }
        var values: [StoredValue] = []
        while !bytes.isEmpty {
            guard let value = StoredValue(removedFrom: &bytes) else { return nil }
            values.append(value)
        }
        self.values = values
        self.isAfter = side == 1
        self.checksum = checksum
        guard self.description == description else { return nil }
    }
}

extension PageToken: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let token = PageToken(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "'\(text)' is not a page token")
        }
        self = token
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension StoredValue {
    /// Appends a byte for the case, a number or the count of bytes, and the bytes of a text or blob.
    func append(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(0)
        case .integer(let number):
            bytes.append(1)
            bytes.appendNumber(UInt64(bitPattern: number))
        case .real(let number):
            bytes.append(2)
            bytes.appendNumber(number.bitPattern)
        case .text(let text):
            bytes.append(3)
            bytes.appendNumber(UInt64(text.utf8.count))
            bytes += text.utf8
        case .blob(let data):
            bytes.append(4)
            bytes.appendNumber(UInt64(data.count))
            bytes += data
        }
    }

    /// Decodes and removes the first value. Nil if the bytes do not begin with a value.
    fileprivate init?(removedFrom bytes: inout ArraySlice<UInt8>) {
        guard let kind = bytes.popFirst() else { return nil }
        if kind == 0 {
            self = .null
            return
        }
        guard let number = bytes.removeNumber() else { return nil }
        switch kind {
        case 1: self = .integer(Int64(bitPattern: number))
        case 2: self = .real(Double(bitPattern: number))
        case 3, 4:
            guard number <= UInt64(bytes.count) else { return nil }
            let content = bytes.prefix(Int(number))
            bytes = bytes.dropFirst(content.count)
            self = kind == 3 ? .text(String(decoding: content, as: UTF8.self)) : .blob(Data(content))
        default: return nil
        }
    }
}

extension [UInt8] {
    /// Appends the eight bytes of a number, the lowest first.
    fileprivate mutating func appendNumber(_ number: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) { append(UInt8(truncatingIfNeeded: number >> UInt64(shift))) }
    }
}

extension ArraySlice<UInt8> {
    fileprivate mutating func removeNumber() -> UInt64? {
        guard count >= 8 else { return nil }
        let number = prefix(8).reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        removeFirst(8)
        return number
    }
}
