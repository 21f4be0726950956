import Foundation

/// An option of `@Attribute` for one attribute, beyond its type.
public struct AttributeOption: Sendable {
    /// The kind of values that a check applies to.
    enum Subject: String, Sendable {
        case texts
        case numbers
    }

    enum Kind: Sendable {
        case unique
        /// Unique; a save also treats an inserted object with an existing value as a newer version of the existing
        /// object.
        case uniqueUpdating
        case indexed
        case createdAt
        case updatedAt
        case required
        case originalName(String)
        case externalStorage
        case searchable(weight: Double)
        case transformed
        case derived
        case bookkeeping
        case commitNumber
        /// The declared default value is a literal, so that a store can record it.
        case literalDefault
        /// Without a subject, the check applies to any values. Without a rule, only the closure knows what it checks.
        case check(message: String, of: Subject?, rule: DeclaredRule?, @Sendable (StoredValue) -> Bool)
    }

    let kind: Kind

    /// The message of a validation rule; nil for other options.
    var rule: String? {
        switch kind {
        case .required: Self.requiredMessage
        case .check(let message, _, _, _): message
        default: nil
        }
    }

    static let requiredMessage = "must not be nil"

    /// The message of the rule that a value breaks; nil if this option is not a rule or the value satisfies the rule.
    func fault(of value: StoredValue) -> String? {
        switch kind {
        case .required: value == .null ? Self.requiredMessage : nil
        case .check(let message, _, _, let isValid): value != .null && !isValid(value) ? message : nil
        default: nil
        }
    }

    /// No two objects have the same value. Any number of objects may have nil.
    public static let unique = AttributeOption(kind: .unique)
    /// No two objects have the same value; `conflict` says how a save treats an inserted object with the value of
    /// another one.
    public static func unique(onConflict conflict: UniqueConflict) -> AttributeOption {
        conflict == .update ? AttributeOption(kind: .uniqueUpdating) : unique
    }
    /// Queries by this attribute use an index.
    public static let indexed = AttributeOption(kind: .indexed)
    /// Set to the time of the first save, if the value is nil then. For a `Date?`.
    public static let createdAt = AttributeOption(kind: .createdAt)
    /// Set to the time of every save of a context whose changes include the object. For a `Date?`.
    public static let updatedAt = AttributeOption(kind: .updatedAt)
    /// Must not be nil when the object is saved. For optionals, including to-one relationships.
    public static let required = AttributeOption(kind: .required)

    /// ``Model/search(_:)-(String)`` finds the words of this attribute. For `String` and `String?`.
    public static let searchable = searchable(weight: 1)

    /// Searchable, with a weight for the ranking: matches in this attribute count `weight` times as much as in others.
    ///
    /// - Parameter weight: 0 or more.
    public static func searchable(weight: Double) -> AttributeOption {
        AttributeOption(kind: .searchable(weight: weight))
    }

    /// Stored outside of the row, and read at first use. For large `Data` and `Data?`.
    public static let externalStorage = AttributeOption(kind: .externalStorage)

    /// Stored by a transformer, as values of another type.
    public static func transformed<Transformer: ValueTransformer>(by transformer: Transformer.Type) -> AttributeOption {
        AttributeOption(kind: .transformed)
    }

    /// Calculated from other columns. `@Model` writes this option for ``Derived(_:)`` properties.
    public static let _$derived = AttributeOption(kind: .derived)

    /// `@Model` writes this option for a property whose default value is a literal.
    public static let _$literalDefault = AttributeOption(kind: .literalDefault)

    /// Set by engines in committed rows, outside of contexts. These changes do not conflict with edits and deletes in
    /// contexts.
    package static let bookkeeping = AttributeOption(kind: .bookkeeping)
    /// Set to the number of the commit that inserts the object. For an `Int64`.
    package static let commitNumber = AttributeOption(kind: .commitNumber)

    /// The name of the property in stores of earlier versions. May be given more than once, the newest name first.
    public static func originalName(_ name: String) -> AttributeOption { AttributeOption(kind: .originalName(name)) }

    /// A text whose number of characters, as `String` counts them, is within bounds.
    public static func length(_ bounds: ClosedRange<Int>) -> AttributeOption {
        check(
            "must have \(bounds.lowerBound) to \(bounds.upperBound) characters",
            of: .texts,
            rule: .length(from: bounds.lowerBound, to: bounds.upperBound)
        ) { text in
            guard case .text(let text) = text else { return true }
            return bounds.contains(text.count)
        }
    }

    /// A number within bounds.
    public static func range(_ bounds: ClosedRange<Double>) -> AttributeOption {
        check(
            "must be between \(text(bounds.lowerBound)) and \(text(bounds.upperBound))",
            of: .numbers,
            rule: .range(from: bounds.lowerBound, to: bounds.upperBound)
        ) { value in
            switch value {
            case .integer(let number): bounds.contains(Double(number))
            case .real(let number): bounds.contains(number)
            // Decimals, and unsigned integers beyond `Int64.max`.
            case .text: Decimal(storedValue: value).flatMap { Double("\($0)") }.map(bounds.contains) ?? true
            case .blob: UInt64(storedValue: value).map { bounds.contains(Double($0)) } ?? true
            case .null: true
            }
        }
    }

    /// A bound as a person writes it: 10, not 10.0.
    private static func text(_ bound: Double) -> String { Int64(exactly: bound).map { String($0) } ?? String(bound) }

    /// Not the empty text.
    public static let notEmpty = check("must not be empty", of: .texts, rule: .notEmpty) { $0 != .text("") }

    /// A custom check of the value in its stored form. The check is not called for nil.
    public static func check(
        _ message: String,
        _ isValid: @escaping @Sendable (StoredValue) -> Bool
    ) -> AttributeOption {
        AttributeOption(kind: .check(message: message, of: nil, rule: nil, isValid))
    }

    private static func check(
        _ message: String,
        of subject: Subject,
        rule: DeclaredRule,
        _ isValid: @escaping @Sendable (StoredValue) -> Bool
    ) -> AttributeOption {
        AttributeOption(kind: .check(message: message, of: subject, rule: rule, isValid))
    }
}

/// How a save treats an inserted object whose unique value another object already has.
public enum UniqueConflict: Sendable, Hashable {
    /// The save throws ``StrataError/Code/notUnique``. The default.
    case refuse
    /// The inserted object counts as a newer version of the existing object.
    ///
    /// The existing object keeps its id and its `createdAt`. It gets all other values and the relationship members of
    /// the inserted object, even if others have changed these values meanwhile. References to the inserted object then
    /// lead to the existing object, and the inserted object is deleted.
    ///
    /// The same applies to objects that child contexts have inserted and saved into this context. If another process
    /// inserts the same value during the save, the save throws ``StrataError/Code/notUnique``. A second call of the
    /// save then succeeds.
    case update
}

/// An option of `@Model` that concerns several columns of a model together.
public struct ModelOption: Sendable {
    enum Kind: Sendable {
        /// The columns, in their order.
        case unique(ColumnIndex<String>)
        case uniqueUpdating(ColumnIndex<String>)
        case index(ColumnIndex<String>)
        case search(SearchTokenizer, prefixes: [Int])
    }

    let kind: Kind

    /// No two objects have the same combination of values. Any number of objects may have nil in one of the columns.
    ///
    /// - Parameters:
    ///   - columns: the names of the properties.
    ///   - present: one of the columns, which must be optional. Rows that have nil in this column are left out of the
    ///     index; the constraint itself does not change. If most rows have nil there, the store is smaller and writes
    ///     are faster.
    ///   - conflict: how a save treats an inserted object that has the values of another one.
    public static func unique(
        _ columns: String...,
        whereNotNil present: String? = nil,
        onConflict conflict: UniqueConflict = .refuse
    ) -> ModelOption {
        let index = ColumnIndex(columns, present: present)
        return ModelOption(kind: conflict == .update ? .uniqueUpdating(index) : .unique(index))
    }
    /// Queries by these columns, from the left, use an index.
    ///
    /// - Parameters:
    ///   - columns: the names of the properties, in the order of the index.
    ///   - present: an optional column. Only rows with a value in this column are in the index. Only queries that
    ///     compare the column with a value, other than by `!=`, or that require it to be non-nil, use the index. If few
    ///     rows have a value, the index is small and costs the other rows nothing.
    public static func index(_ columns: String..., whereNotNil present: String? = nil) -> ModelOption {
        ModelOption(kind: .index(ColumnIndex(columns, present: present)))
    }

    /// How the searchable attributes of the model are searched; without this option, by whole words.
    ///
    /// - Parameters:
    ///   - tokenizer: defines what counts as a word.
    ///   - prefixes: lengths of word beginnings, in characters, that get a separate index. Searches for such beginnings
    ///     are then faster, and the store is larger.
    public static func search(_ tokenizer: SearchTokenizer, prefixes: [Int] = []) -> ModelOption {
        ModelOption(kind: .search(tokenizer, prefixes: prefixes))
    }
}
