/// How a save or commit handles columns that another context has changed since they were read.
public struct MergePolicy: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable {
        case error, mine, theirs
        case custom(Resolver)
    }

    /// The closure that decides, compared by identity.
    final class Resolver: Sendable {
        let resolve: @Sendable (MergeConflict) -> MergeDecision

        init(_ resolve: @escaping @Sendable (MergeConflict) -> MergeDecision) { self.resolve = resolve }
    }

    let kind: Kind

    /// Throws ``StrataError/Code/conflict``, which lists objects, columns and the three values. The default.
    public static let error = MergePolicy(kind: .error)
    /// This context's values stay.
    ///
    /// An object that was deleted elsewhere is restored under its id. It is not restored if this context's only changes
    /// to the object clear references to objects that this context has deleted as well.
    public static let mine = MergePolicy(kind: .mine)
    /// The other contexts' values stay. This context's changes to these columns are dropped.
    public static let theirs = MergePolicy(kind: .theirs)

    /// You decide, column by column.
    ///
    /// ```swift
    /// context.mergePolicy = .custom { conflict in
    ///     guard conflict.column == "tags", let (_, mine, theirs) = conflict.values(of: Set<String>.self)
    ///     else { return .error }
    ///     return .value(mine.union(theirs))
    /// }
    /// ```
    ///
    /// - Parameter resolve: called for each column that was changed on both sides, and once for an object that was
    ///   deleted on one side and changed on the other. It may be called on any thread, on two threads at once, and more
    ///   than once for the same conflict, also while the store is being written. It must decide only by its argument,
    ///   return quickly, and use no context.
    public static func custom(_ resolve: @escaping @Sendable (MergeConflict) -> MergeDecision) -> MergePolicy {
        MergePolicy(kind: .custom(Resolver(resolve)))
    }

    /// The name of the policy, as written in code.
    public var description: String {
        if case .custom = kind { ".custom" } else { ".\(kind)" }
    }

    /// Whether both are the same policy. Two custom policies are equal if one is a copy of the other.
    public static func == (left: MergePolicy, right: MergePolicy) -> Bool {
        switch (left.kind, right.kind) {
        case (.error, .error), (.mine, .mine), (.theirs, .theirs): true
        case (.custom(let left), .custom(let right)): left === right
        default: false
        }
    }

    /// Hashes the kind and the identity of a custom policy's closure.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(description)
        if case .custom(let resolver) = kind { hasher.combine(ObjectIdentifier(resolver)) }
    }
}

/// A conflict that a ``MergePolicy/custom(_:)`` policy resolves.
public struct MergeConflict: Sendable {
    /// How the two sides differ.
    public enum Kind: Sendable, Hashable {
        /// Both sides have changed the same column. The conflict has a column name and three values.
        case changedOnBothSides
        /// This side has changed the object, and the other side has deleted it. `mine` restores the object.
        case deletedElsewhere
        /// This side has deleted the object, and the other side has changed it. `theirs` keeps the object.
        case changedElsewhere
    }

    /// How the two sides differ.
    public let kind: Kind
    /// The name of the model.
    public let model: String
    /// The raw value of the object's id: ``ObjectID/rawValue``.
    public let id: Int64
    /// The name of the column; nil if the conflict concerns the whole object.
    public let column: String?
    /// The stored value that both sides started from.
    public let base: StoredValue
    /// This side's value.
    public let mine: StoredValue
    /// The other side's value.
    public let theirs: StoredValue

    /// The declared type of the column; nil for a relationship, and if the conflict concerns the whole object.
    private let heldType: (any AttributeValue.Type)?

    /// A conflict about a column, from the detail that an error would contain.
    init(_ detail: StrataError.Detail, in schema: ColumnSchema) {
        kind = .changedOnBothSides
        heldType = schema.heldType
        (model, id, column) = (detail.model, detail.id, detail.column)
        (base, mine, theirs) = (detail.base ?? .null, detail.mine ?? .null, detail.theirs ?? .null)
    }

    /// A conflict about an object that one side has deleted.
    init(_ kind: Kind, model: String, id: Int64) {
        (self.kind, self.model, self.id, column, heldType) = (kind, model, id, nil, nil)
        (base, mine, theirs) = (.null, .null, .null)
    }

    /// The three values of an attribute that is declared with this type, or with an optional of it.
    ///
    /// The result is nil if one of the three values is nil, if the attribute is declared with another type, and for
    /// relationships. The declared type matters, because SQLite stores the same kind of number for many types: integers
    /// of each width, `Bool`, enums, and the ids of a relationship's destination.
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

/// The resolution of a conflict.
public enum MergeDecision: Sendable {
    /// This side's change stays.
    case mine
    /// The other side's change stays.
    case theirs
    /// The column gets another value, in stored form, for example one that combines both.
    case value(StoredValue)
    /// The save fails with ``StrataError/Code/conflict``.
    case error

    /// The column gets this value. A value that cannot be encoded counts as `error`.
    public static func value(_ value: some AttributeValue) -> MergeDecision {
        guard let stored = try? value.storedValue else { return .error }
        return .value(stored)
    }
}
