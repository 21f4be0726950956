/// A position in the history of a store: after one commit and before the next.
///
/// Keep a token to query later changes, also from another process and after a restart. A token is `Codable` and has a
/// text form. It is valid only in the store that it came from.
///
/// Isolation: a value, usable anywhere.
public struct HistoryToken: Sendable, Hashable {
    /// The number of the commit before the position. Commits of a store are counted without gaps.
    package let sequence: Int64
    let fingerprint: UInt16

    init(_ sequence: Int64, of fingerprint: UInt16) {
        self.sequence = sequence
        self.fingerprint = fingerprint
    }
}

extension HistoryToken: Comparable {
    /// Compares tokens by the order of commits. The order of tokens of two different stores has no meaning.
    public static func < (left: HistoryToken, right: HistoryToken) -> Bool { left.sequence < right.sequence }
}

extension HistoryToken: LosslessStringConvertible {
    /// `42-9f3c`: the number of the commit and the fingerprint of the store in hexadecimal digits.
    public var description: String { "\(sequence)-\(String(fingerprint, radix: 16))" }

    /// Parses a ``description``. Nil if the text has another form.
    public init?(_ description: String) {
        let parts = description.split(atBytes: "-", omitsEmpty: false)
        guard parts.count == 2, let sequence = Int64(parts[0]), let fingerprint = UInt16(parts[1], radix: 16) else {
            return nil
        }
        self.init(sequence, of: fingerprint)
        guard sequence >= 0, self.description == description else { return nil }
    }
}

extension HistoryToken: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let token = HistoryToken(text) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "'\(text)' is not a history token; a token looks like 42-9f3c"
            )
        }
        self = token
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
