/// How values of a type that is no ``AttributeValue`` are kept in a column: as values of one that is.
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
/// A nil value is NULL, of which the transformer is not asked. Equal values are taken for the same, so that setting one over
/// the other is no change; values that are to be found by a query are always stored alike.
///
/// Isolation: called by whoever reads or writes rows, on any thread.
public protocol ValueTransformer: SendableMetatype {
    /// The type of the attribute.
    associatedtype Value: Sendable, Equatable
    /// The type that the column holds.
    associatedtype Stored: AttributeValue

    /// The value as the column holds it.
    ///
    /// - Throws: what keeps it from being stored. The save reports it with ``StrataError/Code/validation``.
    static func store(_ value: Value) throws -> Stored

    /// The value of what the column holds.
    ///
    /// - Throws: what is wrong with it. The fetch reports it with ``StrataError/Code/undecodable``, and the row stays as it
    ///   is.
    static func load(_ stored: Stored) throws -> Value
}

/// A value with the transformer that it is stored by: what a column of such an attribute holds.
///
/// Attributes and rows have the value itself.
public struct Transformed<Transformer: ValueTransformer>: AttributeValue {
    /// The value of the attribute.
    public let value: Transformer.Value

    /// A value that is to be stored by its transformer.
    public init(_ value: Transformer.Value) { self.value = value }

    public static var columnType: ColumnType { Transformer.Stored.columnType }

    public var storedValue: StoredValue {
        get throws { try Transformer.store(value).storedValue }
    }

    public init?(storedValue: StoredValue) {
        guard let value = try? Self.load(storedValue) else { return nil }
        self = value
    }

    /// Nil where the store holds no value of the transformer's.
    static func load(_ stored: StoredValue) throws -> Transformed? {
        try Transformer.Stored(storedValue: stored).map { Transformed(try Transformer.load($0)) }
    }
}

/// A ``Transformed`` value of whichever transformer.
protocol TransformedValue {
    /// The type that the column holds.
    static var storedType: any AttributeValue.Type { get }
}

extension Transformed: TransformedValue {
    static var storedType: any AttributeValue.Type { Transformer.Stored.self }
}

extension AttributeValue {
    /// The type whose values the column holds: this one, or that of its transformer.
    static var heldType: any AttributeValue.Type { (self as? any TransformedValue.Type)?.storedType ?? self }
}

extension RowReader {
    /// Reads a value by its transformer.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` where that fails.
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

    /// Reads a value by its transformer; nil for NULL.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` where that fails.
    public func read<Transformer: ValueTransformer>(
        _ type: Transformed<Transformer>?.Type,
        at column: Int32
    ) throws -> Transformed<Transformer>? {
        isNull(at: column) ? nil : try read(Transformed<Transformer>.self, at: column)
    }
}
