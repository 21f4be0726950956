public import Observation

/// A class whose instances live in contexts. Always declared with the macro
/// ``Model(_:table:originalName:)``, never by hand.
///
/// An object belongs to one context and is used on that context's executor only. Its ``Row`` holds the same values in
/// `Sendable` form.
///
/// In observable contexts, such as the main context, reading properties and relationships takes part in Swift's
/// `Observation`.
public protocol Model: AnyObject, Observable, SendableMetatype, PropertyValue, CustomDebugStringConvertible
where Stored == Never, OptionalStored == ObjectID<Self>? {
    /// The values of an object as a struct.
    associatedtype Row: ModelRow where Row.Object == Self
    /// The namespace of the column expressions that query closures receive.
    associatedtype Columns: Sendable

    /// The names, types and options of the attributes and relationships.
    static var _$schema: ModelSchema { get }
    /// The column expressions themselves; the macro writes them.
    static var columns: Columns { get }

    /// The object's permanent id; ``ObjectID/unassigned`` before the object is inserted.
    var id: ObjectID<Self> { get }

    var _$row: Row { get set }
    var _$link: ObjectLink { get set }
    var _$state: ObjectState { get set }

    /// An object that belongs to no context yet.
    init(_$row: Row)

    /// Checks rules that the declarations of single attributes cannot express. Runs before any data is written, and
    /// again on a row that was merged from the changes of two writers. The default implementation reports no failures.
    ///
    /// A model declares the method as `static func validate(_ row: Row, _ failures: inout Validation<Article>)`. In the
    /// class, a method of this name with another signature than this one and that of ``validate(in:_:)`` is an error.
    static func validate(_ row: Row, _ failures: inout Validation<Self>)

    // Compiled together with the model, like the requirements of ``StoredRow``.
    static func _$validate(_ row: UnsafePointer<Row>, _ failures: inout Validation<Self>)
    static func _$make(_ row: RowReader, _ link: ObjectLink, _ state: ObjectState) throws -> Self
    static func _$insert(_ object: Self, _ id: ObjectID<Self>, _ link: ObjectLink, _ state: ObjectState)
    static func _$base(_ object: Self, sequence: Int64) -> AnyObject
    static func _$publish(
        _ object: Self,
        to change: UnsafeMutableRawPointer,
        kind: UInt8,
        _ columns: ColumnSet,
        base: AnyObject?
    ) -> Int64
}

extension Model {
    @inlinable public var id: ObjectID<Self> { _$row.id }

    // Inlinable, so that the check of a row does not copy the row for this call. Disfavored, so that ``ModelHooks``
    // finds the placeholder that returns `NoHook` if the model does not declare the method.
    @_disfavoredOverload
    @inlinable
    public static func validate(_ row: Row, _ failures: inout Validation<Self>) {}

    @inlinable
    public static func _$validate(_ row: UnsafePointer<Row>, _ failures: inout Validation<Self>) {
        // `return` excludes the placeholder, which returns a value.
        return validate(row.pointee, &failures)
    }

    /// Creates the object of a stored row, as part of a context.
    @inlinable
    public static func _$make(_ row: RowReader, _ link: ObjectLink, _ state: ObjectState) throws -> Self {
        let object = Self(_$row: try Row(_$from: row))
        object._$link = link
        object._$state = state
        return object
    }

    /// Makes an object part of a context, under its permanent id.
    @inlinable
    public static func _$insert(_ object: Self, _ id: ObjectID<Self>, _ link: ObjectLink, _ state: ObjectState) {
        object._$row.id = id
        object._$link = link
        object._$state = state
    }

    /// The ``Base`` of an imminent change to a row that the object shows as it is in the store.
    @inlinable
    public static func _$base(_ object: Self, sequence: Int64) -> AnyObject {
        Base(inStore: object._$row, sequence: sequence)
    }

    /// Initialises memory with a ``Change`` of the object's row, and starts a new edit.
    ///
    /// - Parameter base: a ``Base`` of the row.
    /// - Returns: the row's number.
    @inlinable
    public static func _$publish(
        _ object: Self,
        to change: UnsafeMutableRawPointer,
        kind: UInt8,
        _ columns: ColumnSet,
        base: AnyObject?
    ) -> Int64 {
        object._$state.edit = -1
        change.bindMemory(to: Change<Row>.self, capacity: 1).initialize(
            to: Change(
                kind: ChangeKind(rawValue: kind).unsafelyUnwrapped,
                columns: columns,
                row: object._$row,
                base: base.map { unsafeDowncast($0, to: Base<Row>.self) }
            )
        )
        return object._$row._$id
    }
}

/// The values of an object: a `Sendable` and `Codable` struct that `@Model` generates.
///
/// ``RowCoding`` has the options of coders. For another coded form, declare `encode(to:)` or `init(from:)` in an
/// extension of the row.
public protocol ModelRow: StoredRow, Codable {
    /// The model whose values these are.
    associatedtype Object: Model where Object.Row == Self

    /// The object's id.
    var id: ObjectID<Object> { get set }

    /// Decodes the id and all columns except derived ones.
    init(_$decoding decoder: RowDecoder) throws

    /// Encodes all columns. The id is not a column.
    func _$encode(to encoder: inout RowEncoder) throws
}

extension ModelRow {
    @inlinable public var _$id: Int64 { id.rawValue }
}

/// A row of a table in memory: the values of an object, or a member of a to-many relationship.
@_documentation(visibility: internal)
public protocol StoredRow: Sendable {
    /// The row's id in the store.
    var _$id: Int64 { get }

    /// Reads all columns in the order of the schema, the id first.
    init(_$from reader: RowReader) throws

    // The requirements that take a pointer read a row in place. Generic code that calls a method of a row first copies
    // the row, field by field through witness tables. These functions, in contrast, are compiled with the model and
    // read only the columns that they need.

    /// The row's id in the store.
    static func _$id(_ row: UnsafePointer<Self>) -> Int64

    /// Binds all columns in the order of the schema, the id first.
    static func _$bind(_ row: UnsafePointer<Self>, to binder: inout RowBinder) throws

    /// Binds these columns only, in ascending order from the first parameter on.
    static func _$bind(_ columns: ColumnSet, of row: UnsafePointer<Self>, to binder: inout RowBinder) throws

    /// The value of the column with this index in the schema; the id is not counted.
    static func _$value(_ row: UnsafePointer<Self>, at column: Int) throws -> StoredValue

    /// Sets the column with this index.
    mutating func _$set(_ value: StoredValue, at column: Int) throws

    /// Copies these columns from another row.
    mutating func _$copy(_ columns: ColumnSet, from other: Self)

    /// The value of a column whose bytes are stored outside of the row.
    func _$external(at column: Int) -> ExternalData?

    /// The columns in which two rows differ.
    func _$differences(from other: Self) -> ColumnSet
}

extension StoredRow {
    @inlinable
    public static func _$id(_ row: UnsafePointer<Self>) -> Int64 { row.pointee._$id }

    public func _$external(at column: Int) -> ExternalData? { nil }

    func _$value(at column: Int) throws -> StoredValue {
        try withUnsafePointer(to: self) { try Self._$value($0, at: column) }
    }
}
