public import Foundation

/// The value of a column expression: an ``AttributeValue`` or an optional one.
///
/// The protocol lets one set of operators serve both. Attribute types and their optionals conform automatically.
public protocol ColumnValue: Sendable {
    /// The type of the value if it is not nil.
    associatedtype Unwrapped: AttributeValue

    /// Converts the stored value of a result's column.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the stored value is not of this type.
    static func _$value(_ stored: StoredValue, in column: @autoclosure () -> String) throws -> Self
}

extension AttributeValue {
    public static func _$value(_ stored: StoredValue, in column: @autoclosure () -> String) throws -> Self {
        guard let value = Self(storedValue: stored) else {
            throw UndecodableValue(value: stored, type: "\(Self.self)", column: column()).error
        }
        return value
    }
}

extension Optional: ColumnValue where Wrapped: AttributeValue {
    public typealias Unwrapped = Wrapped

    public static func _$value(_ stored: StoredValue, in column: @autoclosure () -> String) throws -> Wrapped? {
        stored == .null ? nil : try Wrapped._$value(stored, in: column())
    }
}

extension Array: ColumnValue where Element: AttributeValue & Codable {
    public typealias Unwrapped = Self
}

extension Set: ColumnValue where Element: AttributeValue & Codable {
    public typealias Unwrapped = Self
}

extension Dictionary: ColumnValue where Key: AttributeValue & Codable, Value: AttributeValue & Codable {
    public typealias Unwrapped = Self
}

/// An attribute type whose values the store orders as `<` does.
///
/// Columns of such a type can be compared with `<`, `<=`, `>`, `>=` and
/// ``Column/between(_:)-(ClosedRange<Value.Unwrapped>)``, and have a minimum and a maximum. All numbers, `String`, `Date` and `UUID` conform. For your own raw-representable type, declare the
/// conformance. Its values are compared by their raw values:
///
/// ```swift
/// enum Urgency: Int, OrderedAttributeValue { case low = 1, normal, high }
/// Ticket.where { $0.urgency >= .normal }.sorted { $0.urgency.descending }
/// ```
///
/// If you write a `<` for the type, it must agree with the order of the raw values. A `Codable` type stored as JSON
/// must not conform.
public protocol OrderedAttributeValue: AttributeValue, Comparable {}

extension OrderedAttributeValue where Self: RawRepresentable, RawValue: OrderedAttributeValue {
    /// Whether the left raw value is smaller. Texts are compared by their bytes, as the store compares them.
    public static func < (left: Self, right: Self) -> Bool {
        guard let first = left.rawValue as? String, let second = right.rawValue as? String else {
            return left.rawValue < right.rawValue
        }
        return first.utf8.lexicographicallyPrecedes(second.utf8)
    }
}

/// An attribute type whose values can be summed.
public protocol NumericAttributeValue: OrderedAttributeValue {
    /// The type of an average of such values.
    associatedtype Average: AttributeValue = Double
    /// The type of a sum of such values: wide enough for many values.
    associatedtype Sum: AttributeValue & AdditiveArithmetic = Self
}

/// An attribute type with which SQL can calculate.
///
/// The conforming types are numbers, except `Decimal`, which would lose digits, and `UInt` and `UInt64`, which would
/// lose their upper half.
public protocol ArithmeticAttributeValue: NumericAttributeValue {}

extension String: OrderedAttributeValue {}
extension Date: OrderedAttributeValue {}
extension UUID: OrderedAttributeValue {}

extension Int: ArithmeticAttributeValue {}
extension Int8: ArithmeticAttributeValue {
    /// Wide enough for many values.
    public typealias Sum = Int
}
extension Int16: ArithmeticAttributeValue {
    /// Wide enough for many values.
    public typealias Sum = Int
}
extension Int32: ArithmeticAttributeValue {
    /// Wide enough for many values.
    public typealias Sum = Int
}
extension Int64: ArithmeticAttributeValue {}
extension UInt8: ArithmeticAttributeValue {
    /// Wide enough for many values.
    public typealias Sum = Int
}
extension UInt16: ArithmeticAttributeValue {
    /// Wide enough for many values.
    public typealias Sum = Int
}
extension UInt32: ArithmeticAttributeValue {
    /// Wide enough for many values.
    public typealias Sum = Int
}
extension Double: ArithmeticAttributeValue {}
extension Float: ArithmeticAttributeValue {
    /// Sums have the store's precision.
    public typealias Sum = Double
}
extension UInt: NumericAttributeValue {}
extension UInt64: NumericAttributeValue {}

extension Decimal: NumericAttributeValue {
    public typealias Average = Decimal
}

/// `String` and `String?`: the columns that can be searched as texts.
public protocol TextColumnValue: ColumnValue where Unwrapped == String {}

extension String: TextColumnValue {
    public typealias Unwrapped = String
}

extension Optional: TextColumnValue where Wrapped == String {}
