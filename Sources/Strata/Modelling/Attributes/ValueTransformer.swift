/// Stores values of a type that is not an ``AttributeValue`` as values of a type that is.
///
/// ```swift
/// enum HexColor: ValueTransformer {
///     static func store(_ color: Color) throws -> String { color.hex }
///     static func load(_ text: String) throws -> Color { try Color(hex: text) }
/// }
///
/// @Attribute(.transformed(by: HexColor.self)) var color: Color
/// ```
///
/// A nil value is stored as NULL without calling the transformer. Setting an equal value is not a change, unless the
/// two values are stored as texts that spell characters differently. For queries to find values, the transformer must
/// always store equal values the same way.
///
/// Isolation: the transformer is called on any thread that reads or writes rows.
public protocol ValueTransformer: SendableMetatype {
    /// The type of the attribute.
    associatedtype Value: Sendable, Equatable
    /// The type that the column holds.
    associatedtype Stored: AttributeValue

    /// Converts a value to the form that the column holds.
    ///
    /// - Throws: the reason why the value cannot be stored. The save reports the reason with
    ///   ``StrataError/Code/validation``.
    static func store(_ value: Value) throws -> Stored

    /// Converts the column's content to a value.
    ///
    /// - Throws: the reason why the content is invalid. The fetch reports the reason with
    ///   ``StrataError/Code/undecodable``, and the row stays unchanged.
    static func load(_ stored: Stored) throws -> Value
}

/// The content of a column with a transformer: a value together with the transformer that stores it.
///
/// Attributes and rows have the value itself.
public struct Transformed<Transformer: ValueTransformer>: AttributeValue {
    /// The value of the attribute.
    public let value: Transformer.Value

    /// Creates a value that its transformer will store.
    public init(_ value: Transformer.Value) { self.value = value }

    public static var columnType: ColumnType { Transformer.Stored.columnType }

    public var storedValue: StoredValue {
        get throws { try Transformer.store(value).storedValue }
    }

    public init?(storedValue: StoredValue) {
        guard let value = try? Self.load(storedValue) else { return nil }
        self = value
    }

    /// Loads a value; nil if the stored value is not of the transformer's stored type.
    static func load(_ stored: StoredValue) throws -> Transformed? {
        try Transformer.Stored(storedValue: stored).map { Transformed(try Transformer.load($0)) }
    }
}

/// A ``Transformed`` value of any transformer.
protocol TransformedValue {
    /// The type that the column holds.
    static var storedType: any AttributeValue.Type { get }
}

extension Transformed: TransformedValue {
    static var storedType: any AttributeValue.Type { Transformer.Stored.self }
}

extension AttributeValue {
    /// The type of the column's content: this type, or the stored type of its transformer.
    static var heldType: any AttributeValue.Type { (self as? any TransformedValue.Type)?.storedType ?? self }
}

extension RowReader {
    /// Reads a value with its transformer.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the value cannot be read.
    public func read<Transformer: ValueTransformer>(
        _ type: Transformed<Transformer>.Type,
        at column: Int32
    ) throws -> Transformed<Transformer> {
        let stored = value(at: column)
        var cause: (any Error)?
        do {
            if let value = try Transformed<Transformer>.load(stored) { return value }
        } catch {
            cause = error
        }
        throw UndecodableValue(
            value: stored,
            type: "\(Transformer.Value.self)",
            column: name(of: column),
            cause: cause.map { "\($0)" }
        ).error
    }

    /// Reads a value with its transformer; nil for NULL.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the value cannot be read.
    public func read<Transformer: ValueTransformer>(
        _ type: Transformed<Transformer>?.Type,
        at column: Int32
    ) throws -> Transformed<Transformer>? {
        isNull(at: column) ? nil : try read(Transformed<Transformer>.self, at: column)
    }
}
