/// A to-many relationship: a lazy handle that answers questions about the objects at the other end.
///
/// It holds no array. Every question is a query over the store and all layers down to the owner's context, so inverses
/// agree at any moment, and nothing is loaded that was not asked for.
///
/// ```swift
/// let recent = try author.articles.where { $0.views > 100 }.fetch()
/// author.articles.insert(article)
/// ```
///
/// Members come in the order of their ids, those of an ordered relationship in the order that they were given.
///
/// Isolation: that of its owner.
@dynamicMemberLookup
public struct Many<Object: Model>: DerivableQuery {
    let owner: any Model
    let relationship: Int

    public init(_$owner owner: some Model, relationship: Int) {
        self.owner = owner
        self.relationship = relationship
    }

    /// The members that a named scope of their model asks for: `author.articles.published`.
    public subscript(dynamicMember scope: KeyPath<Object.Type, Query<Object>>) -> Members<Object> {
        merging(Object.self[keyPath: scope])
    }

    /// Reports members of the model that are not scopes.
    @available(*, unavailable, message: "a scope with arguments is a method in an extension of DerivableQuery")
    public subscript<Value>(dynamicMember member: KeyPath<Object.Type, Value>) -> Value {
        Object.self[keyPath: member]
    }

    /// The members that a query of their model asks for as well: see ``Query/merging(_:)``.
    public func merging(_ other: Query<Object>) -> Members<Object> { members(query.merging(other)) }

    /// The query for the members.
    public var query: Query<Object> {
        func open<Owner: Model>(_ owner: Owner) -> Query<Object> {
            Query(
                membersOf: Owner.self,
                numbers: [owner.id.number],
                relationship: Owner._$schema.relationships[relationship].name
            )
        }
        return open(owner)
    }

    /// The members that meet a condition.
    public func `where`(_ condition: (Object.Columns) -> Condition<Object>) -> Members<Object> {
        members(query.where(condition))
    }

    /// The members in the order of one key.
    public func sorted(_ key: (Object.Columns) -> SortKey<Object>) -> Members<Object> { members(query.sorted(key)) }

    /// The members in the order of one expression, from the smallest value to the largest.
    public func sorted<Expression: SortExpression>(_ expression: (Object.Columns) -> Expression) -> Members<Object>
    where Expression.Root == Object { members(query.sorted(expression)) }

    /// The members in the order of several keys.
    public func sorted(_ keys: (Object.Columns) -> [SortKey<Object>]) -> Members<Object> { members(query.sorted(keys)) }

    /// The first so many members.
    public func limit(_ count: Int) -> Members<Object> { members(query.limit(count)) }

    /// There is ``insert(_:)`` instead.
    @available(
        *,
        unavailable,
        renamed: "insert(_:)",
        message: "members are inserted, and in an ordered relationship come last"
    )
    public func append(_ object: Object) { insert(object) }

    private func members(_ query: Query<Object>) -> Members<Object> { Members(owner: owner, query: query) }

    // MARK: Asking

    /// The owner's context, to be asked.
    private var context: ObjectContext? {
        owner.observeMembers()
        return owner._$link.context
    }

    /// All members. Those of an owner that is not inserted are the ones that were added so far.
    ///
    /// - Throws: ``StrataError`` if the store cannot be read.
    public func fetch() throws -> [Object] {
        guard let context else { return drafted }
        func open<Owner: Model>(_ owner: Owner) throws -> [Object] { try context.members(of: owner, relationship) }
        return try open(owner)
    }

    /// The members, as far as they are known without asking: those of an owner that is not inserted, and what a query has
    /// read ahead.
    private var known: [Object]? {
        guard let context else { return drafted }
        func open<Owner: Model>(_ owner: Owner) -> [Object]? { context.prefetchedMembers(of: owner, relationship) }
        return open(owner)
    }

    private var drafted: [Object] {
        guard case .draft(let draft) = owner._$link.owner else { return [] }
        return (draft.many[relationship] ?? []).compactMap { $0 as? Object }
    }

    /// How many members there are.
    public var count: Int {
        get throws { try known?.count ?? context?.count(query) ?? 0 }
    }

    /// Whether there is no member.
    public var isEmpty: Bool {
        get throws { try known?.isEmpty ?? context.map { try !$0.exists(query) } ?? true }
    }

    /// The first member.
    public var first: Object? {
        get throws { try known.map(\.first) ?? context?.first(query) }
    }

    /// The last member.
    public var last: Object? {
        get throws { try known.map(\.last) ?? context?.last(query) }
    }

    /// The first so many members.
    public func first(_ count: Int) throws -> [Object] {
        try context.map { try $0.first(count, of: query) } ?? Array(drafted.prefix(count))
    }

    /// The last so many members, in their order.
    public func last(_ count: Int) throws -> [Object] {
        try context.map { try $0.last(count, of: query) } ?? Array(drafted.suffix(count))
    }

    /// The ids of the members.
    public var ids: [ObjectID<Object>] {
        get throws { try context.map { try $0.ids(query) } ?? [] }
    }

    /// Whether the object is a member.
    public func contains(_ object: Object) throws -> Bool {
        guard let context else { return drafted.contains { $0 === object } }
        guard object.id.isAssigned else { return false }
        return try context.exists(query.where { _ in Object._$expression(id: ()) == object.id })
    }
}

/// Some of the members of a to-many relationship, ready to be asked for.
///
/// Isolation: that of the owner.
@dynamicMemberLookup
public struct Members<Object: Model>: DerivableQuery {
    let owner: any Model
    /// The query behind it, which may be run in other contexts too.
    public let query: Query<Object>

    /// The members that a named scope asks for as well: see ``Query/merging(_:)``.
    public subscript(dynamicMember scope: KeyPath<Object.Type, Query<Object>>) -> Members<Object> {
        merging(Object.self[keyPath: scope])
    }

    /// Reports members of the model that are not scopes.
    @available(*, unavailable, message: "a scope with arguments is a method in an extension of DerivableQuery")
    public subscript<Value>(dynamicMember member: KeyPath<Object.Type, Value>) -> Value {
        Object.self[keyPath: member]
    }

    /// The members that a query of their model asks for as well: see ``Query/merging(_:)``.
    public func merging(_ other: Query<Object>) -> Members { changed(query.merging(other)) }

    private func changed(_ query: Query<Object>) -> Members { Members(owner: owner, query: query) }

    /// The members that meet a condition as well: see ``Query/where(_:)``.
    public func `where`(_ condition: (Object.Columns) -> Condition<Object>) -> Members {
        changed(query.where(condition))
    }
    /// The members sorted by this key where the sorts so far leave a choice.
    public func sorted(_ key: (Object.Columns) -> SortKey<Object>) -> Members { changed(query.sorted(key)) }
    /// The members sorted by these keys where the sorts so far leave a choice.
    public func sorted(_ keys: (Object.Columns) -> [SortKey<Object>]) -> Members { changed(query.sorted(keys)) }
    /// The members sorted by this expression, from the smallest value to the largest, where the sorts so far leave a choice.
    public func sorted<Expression: SortExpression>(_ expression: (Object.Columns) -> Expression) -> Members
    where Expression.Root == Object { changed(query.sorted(expression)) }
    /// At most so many members.
    public func limit(_ count: Int) -> Members { changed(query.limit(count)) }
    /// The members without the first so many.
    public func offset(_ count: Int) -> Members { changed(query.offset(count)) }

    /// The objects, in their order.
    ///
    /// - Throws: ``StrataError`` if the store cannot be read, or `misuse` where the owner is not inserted.
    public func fetch() throws -> [Object] { try context.fetch(query) }

    /// How many there are.
    public var count: Int { get throws { try context.count(query) } }

    /// Whether there is none.
    public var isEmpty: Bool { get throws { try !context.exists(query) } }

    /// The first one.
    public var first: Object? { get throws { try context.first(query) } }

    /// The last one.
    public var last: Object? { get throws { try context.last(query) } }

    private var context: ObjectContext {
        get throws {
            owner.observeMembers()
            guard let context = owner._$link.context else {
                throw StrataError(
                    .misuse,
                    "The object was not inserted, so its members cannot be queried. Insert it first."
                )
            }
            return context
        }
    }
}
