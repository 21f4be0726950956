import Foundation

/// What `@Attribute` says about one attribute beyond its type.
public struct AttributeOption: Sendable {
    /// What values must be for a check to say anything about them.
    enum Subject: String, Sendable {
        case texts
        case numbers
    }

    enum Kind: Sendable {
        case unique
        /// The same, and how objects are told to be the same.
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
        /// Without a subject, of any values.
        case check(message: String, of: Subject?, @Sendable (StoredValue) -> Bool)
    }

    let kind: Kind

    /// The message of a rule for values; nil for other options.
    var rule: String? {
        switch kind {
        case .required: Self.requiredMessage
        case .check(let message, _, _): message
        default: nil
        }
    }

    static let requiredMessage = "must not be nil"

    /// The message of the rule that a value breaks, if this is one and it does.
    func fault(of value: StoredValue) -> String? {
        switch kind {
        case .required: value == .null ? Self.requiredMessage : nil
        case .check(let message, _, let isValid): value != .null && !isValid(value) ? message : nil
        default: nil
        }
    }

    /// No two objects have the same value. Any number may have none.
    public static let unique = AttributeOption(kind: .unique)
    /// No two objects have the same value, and what a save does with an inserted object that has the value of another one.
    public static func unique(onConflict conflict: UniqueConflict) -> AttributeOption {
        conflict == .update ? AttributeOption(kind: .uniqueUpdating) : unique
    }
    /// Queries by this attribute use an index.
    public static let indexed = AttributeOption(kind: .indexed)
    /// Set to the time of the first save, if it is nil then. For a `Date?`.
    public static let createdAt = AttributeOption(kind: .createdAt)
    /// Set to the time of every save of the context that holds a change of the object. For a `Date?`.
    public static let updatedAt = AttributeOption(kind: .updatedAt)
    /// Must not be nil when the object is saved. For optionals, to-one relationships among them.
    public static let required = AttributeOption(kind: .required)

    /// Its words are found by ``Model/search(_:)``. For `String` and `String?`.
    public static let searchable = searchable(weight: 1)

    /// The same, with matches in it counting so many times as much as in others when results are ranked.
    ///
    /// - Parameter weight: 0 or more.
    public static func searchable(weight: Double) -> AttributeOption {
        AttributeOption(kind: .searchable(weight: weight))
    }

    /// Kept outside of the row, and read when it is first used. For `Data` and `Data?` that is large.
    public static let externalStorage = AttributeOption(kind: .externalStorage)

    /// Stored by a transformer, as values of another type.
    public static func transformed<Transformer: ValueTransformer>(by transformer: Transformer.Type) -> AttributeOption {
        AttributeOption(kind: .transformed)
    }

    /// Calculated from other columns. Written by `@Model` for what is ``Derived(_:)``.
    public static let _$derived = AttributeOption(kind: .derived)

    /// Set by what works on committed rows, beside contexts: what it does there contradicts nobody's edits and deletes.
    package static let bookkeeping = AttributeOption(kind: .bookkeeping)
    /// Set to the number of the commit that inserts the object. For an `Int64`.
    package static let commitNumber = AttributeOption(kind: .commitNumber)

    /// The name that the property had in stores of earlier versions. May be given more than once, the newest name first.
    public static func originalName(_ name: String) -> AttributeOption { AttributeOption(kind: .originalName(name)) }

    /// A text of so many characters, as `String` counts them.
    public static func length(_ bounds: ClosedRange<Int>) -> AttributeOption {
        check("must have \(bounds.lowerBound) to \(bounds.upperBound) characters", of: .texts) { text in
            guard case .text(let text) = text else { return true }
            return bounds.contains(text.count)
        }
    }

    /// A number within bounds.
    public static func range(_ bounds: ClosedRange<Double>) -> AttributeOption {
        check("must be between \(text(bounds.lowerBound)) and \(text(bounds.upperBound))", of: .numbers) { value in
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

    /// A bound as one writes it: 10, not 10.0.
    private static func text(_ bound: Double) -> String { Int64(exactly: bound).map { String($0) } ?? String(bound) }

    /// Not the empty text.
    public static let notEmpty = check("must not be empty", of: .texts) { $0 != .text("") }

    /// A check of your own on the value as it is stored. A nil value is not asked about.
    public static func check(
        _ message: String,
        _ isValid: @escaping @Sendable (StoredValue) -> Bool
    ) -> AttributeOption {
        AttributeOption(kind: .check(message: message, of: nil, isValid))
    }

    private static func check(
        _ message: String,
        of subject: Subject,
        _ isValid: @escaping @Sendable (StoredValue) -> Bool
    ) -> AttributeOption {
        AttributeOption(kind: .check(message: message, of: subject, isValid))
    }
}

/// What a save does with an inserted object whose unique value another object has.
public enum UniqueConflict: Sendable, Hashable {
    /// It throws ``StrataError/Code/notUnique``. The default.
    case refuse
    /// The inserted object is taken for a newer version of the other one, which keeps its id and its `createdAt` and gets all other
    /// values, whoever has changed them meanwhile, and the members of the inserted one. Whatever refers to the inserted object refers to the other one then, and the
    /// inserted object is deleted.
    ///
    /// So are the objects that children have inserted and saved here. Where another process inserts the same value while this is being
    /// saved, the save throws ``StrataError/Code/notUnique``, and goes well when it is called again.
    case update
}

/// What `@Model` says about several columns of a model together.
public struct ModelOption: Sendable {
    enum Kind: Sendable {
        /// The columns, in their order.
        case unique(ColumnIndex<String>)
        case uniqueUpdating(ColumnIndex<String>)
        case index(ColumnIndex<String>)
        case search(SearchTokenizer, prefixes: [Int])
    }

    let kind: Kind

    /// No two objects have the same combination of values. Any number may have nil among theirs.
    ///
    /// - Parameters:
    ///   - present: one of the columns, an optional: rows without a value there are left out of the index, which changes nothing about what is
    ///     refused. Where most have none, the store is smaller and writing them faster.
    ///   - conflict: what a save does with an inserted object that has the values of another one.
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
    /// - Parameter present: an optional column: only rows that have a value there are in the index, and only queries that compare it with a value, other than by
    ///   `!=`, or say that it is not nil, use it. Where few have one, the index is small and costs the others nothing.
    public static func index(_ columns: String..., whereNotNil present: String? = nil) -> ModelOption {
        ModelOption(kind: .index(ColumnIndex(columns, present: present)))
    }

    /// How the searchable attributes of the model are searched; without this, by whole words.
    ///
    /// - Parameters:
    ///   - tokenizer: what counts as a word.
    ///   - prefixes: lengths of beginnings, in characters, that have an index of their own, which makes searches for such
    ///     beginnings faster and the store larger.
    public static func search(_ tokenizer: SearchTokenizer, prefixes: [Int] = []) -> ModelOption {
        ModelOption(kind: .search(tokenizer, prefixes: prefixes))
    }
}
