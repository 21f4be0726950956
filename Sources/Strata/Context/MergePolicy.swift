/// What a save or commit does with columns that somebody else has changed since they were read.
public struct MergePolicy: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable {
        case error, mine, theirs
        case custom(Resolver)
    }

    /// What decides, by identity.
    final class Resolver: Sendable {
        let resolve: @Sendable (MergeConflict) -> MergeDecision

        init(_ resolve: @escaping @Sendable (MergeConflict) -> MergeDecision) { self.resolve = resolve }
    }

    let kind: Kind

    /// It throws ``StrataError/Code/conflict``, which names objects, columns and the three values. The default.
    public static let error = MergePolicy(kind: .error)
    /// What this context has set stays. An object that was deleted elsewhere comes back under its id, unless all that this
    /// context has changed of it is to let go of what it has deleted as well.
    public static let mine = MergePolicy(kind: .mine)
    /// What the others have set stays. This context's changes of these columns are given up.
    public static let theirs = MergePolicy(kind: .theirs)

    /// You decide, column by column.
    ///
    /// ```swift
    /// context.mergePolicy = .custom { conflict in
    ///     guard conflict.column == "tags", let (_, mine, theirs) = conflict.values(of: Set<String>.self) else { return .error }
    ///     return .value(mine.union(theirs))
    /// }
    /// ```
    ///
    /// - Parameter resolve: asked for each column that was changed on both sides, and once for an object that was deleted on one side
    ///   and changed on the other. It may be asked more than once about the same, also while the store is being written to: it
    ///   decides by what it is given, is quick, and uses no context.
    public static func custom(_ resolve: @escaping @Sendable (MergeConflict) -> MergeDecision) -> MergePolicy {
        MergePolicy(kind: .custom(Resolver(resolve)))
    }

    /// The name of the policy, as it is written in code.
    public var description: String {
        if case .custom = kind { ".custom" } else { ".\(kind)" }
    }

    /// Whether both are the same policy. Two custom ones are the same where one is a copy of the other.
    public static func == (left: MergePolicy, right: MergePolicy) -> Bool {
        switch (left.kind, right.kind) {
        case (.error, .error), (.mine, .mine), (.theirs, .theirs): true
        case (.custom(let left), .custom(let right)): left === right
        default: false
        }
    }

    /// Hashes the kind, and what decides.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(description)
        if case .custom(let resolver) = kind { hasher.combine(ObjectIdentifier(resolver)) }
    }
}

/// What a ``MergePolicy/custom(_:)`` is asked about.
public struct MergeConflict: Sendable {
    /// How the two sides differ.
    public enum Kind: Sendable, Hashable {
        /// Both have changed the same column. It has a name and three values.
        case changedOnBothSides
        /// This side has changed the object, the others have deleted it. `mine` brings it back.
        case deletedElsewhere
        /// This side has deleted the object, the others have changed it. `theirs` lets it stay.
        case changedElsewhere
    }

    /// How the two sides differ.
    public let kind: Kind
    /// The name of the model.
    public let model: String
    /// The number of the object's id; see ``ObjectID/number``.
    public let number: Int64
    /// The name of the column; nil where it is about the object.
    public let column: String?
    /// The value that both sides set out from, as it is stored.
    public let base: StoredValue
    /// What this side has made of it.
    public let mine: StoredValue
    /// What the others have made of it.
    public let theirs: StoredValue

    /// The type that the column was declared with; nil for a relationship, and where this is about the object.
    private let heldType: (any AttributeValue.Type)?

    /// About a column, as an error would tell of it.
    init(_ detail: StrataError.Detail, in schema: ColumnSchema) {
        kind = .changedOnBothSides
        heldType = schema.heldType
        (model, number, column) = (detail.model, detail.number, detail.column)
        (base, mine, theirs) = (detail.base ?? .null, detail.mine ?? .null, detail.theirs ?? .null)
    }

    /// About an object that one side has deleted.
    init(_ kind: Kind, model: String, number: Int64) {
        (self.kind, self.model, self.number, column, heldType) = (kind, model, number, nil, nil)
        (base, mine, theirs) = (.null, .null, .null)
    }

    /// The three values of an attribute that is declared with this type, or as an optional of it.
    ///
    /// Nil where one of the three is nil, where the attribute is declared with another type, and for relationships: numbers are what
    /// SQLite keeps for integers of each width, for `Bool`, for enums, and for the ids of what a relationship leads to.
    public func values<Value: AttributeValue>(
        of type: Value.Type
    ) -> (base: Value, mine: Value, theirs: Value)? {
        guard let heldType, heldType == Value.heldType, let base = Value(storedValue: base),
            let mine = Value(storedValue: mine),
            let theirs = Value(storedValue: theirs)
        else { return nil }
        return (base, mine, theirs)
    }
}

/// What becomes of a conflict.
public enum MergeDecision: Sendable {
    /// What this side has done stays.
    case mine
    /// What the others have done stays.
    case theirs
    /// The column gets another value, made of both; as it is stored.
    case value(StoredValue)
    /// The save fails with ``StrataError/Code/conflict``.
    case error

    /// The column gets this value. One that cannot be encoded is an `error`.
    public static func value(_ value: some AttributeValue) -> MergeDecision {
        guard let stored = try? value.storedValue else { return .error }
        return .value(stored)
    }
}
