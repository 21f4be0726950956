/// The permanent identity of an object: the same in every context and never given to another object.
///
/// Isolation: a value, usable anywhere. An id belongs to the store that issued it. Its string and `Codable` forms carry
/// the fingerprint of this store, and any other store refuses the id with ``StrataError/Code/idOfOtherStore``. An
/// object that is not yet inserted has the id ``unassigned``.
public struct ObjectID<Object: Model>: Sendable, Hashable {
    /// The store's fingerprint in the upper sixteen bits, the raw value in the lower 48.
    @usableFromInline let packed: Int64

    @usableFromInline init(packed: Int64) { self.packed = packed }

    init(rawValue: Int64, fingerprint: UInt16) {
        packed = Int64(bitPattern: UInt64(fingerprint) << 48 | UInt64(rawValue))
    }

    /// The id of an object that is not inserted yet.
    @inlinable public static var unassigned: ObjectID { ObjectID(packed: 0) }

    /// Whether this is the id of an inserted object.
    public var isAssigned: Bool { rawValue != 0 }

    /// The integer under which the store keeps the row, 1 or more; 0 for ``unassigned``.
    @inlinable public var rawValue: Int64 { packed & 0xFFFF_FFFF_FFFF }

    var fingerprint: UInt16 { UInt16(truncatingIfNeeded: packed >> 48) }
}

/// The range of the raw values of ids of all models, which leaves room for the fingerprint.
enum ObjectIDRawValues {
    static var all: Range<Int64> { 1..<(1 << 48) }
}

extension ObjectID: Comparable {
    /// Compares the raw values: the order in which one stack has issued the ids. Other stacks, batches and imports use
    /// other ranges.
    public static func < (left: ObjectID, right: ObjectID) -> Bool { left.rawValue < right.rawValue }
}

extension ObjectID: LosslessStringConvertible {
    /// `Article-42-9f3c`: model, raw value, fingerprint of the store in hexadecimal digits.
    public var description: String {
        "\(Object._$schema.name)-\(rawValue)-\(String(fingerprint, radix: 16))"
    }

    /// Parses the text of ``description``, also under the model's original name. Nil if the text has another form or
    /// names another model.
    public init?(_ description: String) {
        let schema = Object._$schema
        guard let text = ObjectIDText(description, of: schema.name, schema.originalName) else { return nil }
        self.init(rawValue: text.rawValue, fingerprint: text.fingerprint)
    }
}

/// The text of an id, for readers that do not have the class of the model.
struct ObjectIDText {
    let rawValue: Int64
    let fingerprint: UInt16

    /// Parses the text of ``ObjectID/description``. Nil if the text has another form or names another model.
    ///
    /// - Parameters:
    ///   - model: the name of the model.
    ///   - originalName: the former name of the model; nil if it has none.
    init?(_ text: String, of model: String, _ originalName: String?) {
        let parts = text.split(atBytes: "-", omitsEmpty: false)
        guard parts.count == 3, parts[0] == model || parts[0] == originalName ?? model,
            let rawValue = Int64(parts[1]),
            (0..<(1 << 48)).contains(rawValue), let fingerprint = UInt16(parts[2], radix: 16)
        else { return nil }
        // Each id has one text: leading zeros, plus signs and capitals are not accepted.
        guard parts[1] == "\(rawValue)", parts[2] == String(fingerprint, radix: 16) else { return nil }
        (self.rawValue, self.fingerprint) = (rawValue, fingerprint)
    }
}

extension ObjectID: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let id = ObjectID(text) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription:
                    "'\(text)' is not an id of \(Object._$schema.name); an id looks like "
                    + "\(Object._$schema.name)-42-9f3c"
            )
        }
        self = id
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
