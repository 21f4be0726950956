/// A to-many relationship: a lazy handle that queries the objects at the other end.
///
/// The handle does not hold an array. Every request is a query over the store and all layers down to the owner's
/// context. Inverse relationships therefore always agree, and only requested objects are loaded.
///
/// ```swift
/// let recent = try author.articles.where { $0.views > 100 }.fetch()
/// author.articles.insert(article)
/// ```
///
/// Members come in the order of their ids; members of an ordered relationship come in their given order.
///
/// Isolation: that of the owner.
@dynamicMemberLookup
public struct Many<Object: Model>: DerivableQuery {
    let owner: any Model
    let relationship: Int

    public init(_$owner owner: some Model, relationship: Int) {
        self.owner = owner
        self.relationship = relationship
    }

    /// The members that match a named scope of their model: `author.articles.published`.
    public subscript(dynamicMember scope: KeyPath<Object.Type, Query<Object>>) -> Members<Object> {
        merging(Object.self[keyPath: scope])
    }

    /// Reports members of the model that are not scopes.
    @available(*, unavailable, message: "a scope with arguments is a method in an extension of DerivableQuery")
    public subscript<Value>(dynamicMember member: KeyPath<Object.Type, Value>) -> Value {
        Object.self[keyPath: member]
    }

    /// The members that also match a query of their model: see ``Query/merging(_:)``.
    public func merging(_ other: Query<Object>) -> Members<Object> { members(query.merging(other)) }

    /// The query for the members.
    public var query: Query<Object> {
        func open<Owner: Model>(_ owner: Owner) -> Query<Object> {
            Query(
                membersOf: Owner.self,
                numbers: [owner.id.rawValue],
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

    /// The first `count` members.
    public func limit(_ count: Int) -> Members<Object> { members(query.limit(count)) }

    /// Use ``insert(_:)`` instead.
    @available(
        *,
        unavailable,
        renamed: "insert(_:)",
        message: "members are inserted, and in an ordered relationship come last"
    )
    public func append(_ object: Object) { insert(object) }

    private func members(_ query: Query<Object>) -> Members<Object> { Members(owner: owner, query: query) }

    // MARK: Asking

    /// The owner's context; reading it registers the access for `Observation`.
    private var context: ObjectContext? {
        owner.observeMembers()
        return owner._$link.context
    }

    /// All members. If the owner is not inserted, these are the members that were added so far.
    ///
    /// - Throws: ``StrataError`` if the store cannot be read.
    public func fetch() throws -> [Object] {
        guard let context else { return pendingMembers }
        return try context.members(of: owner, relationship)
    }

    /// The members that are known without a query: those of an owner that is not inserted, and prefetched members.
    private var known: [Object]? {
        guard let context else { return pendingMembers }
        return context.prefetchedMembers(of: owner, relationship)
    }

    /// The owner's context, which now runs a query that prefetched members would have answered.
    private var queried: ObjectContext? {
        let context = context
        if let context { context.countRead(of: relationship, owner) }
        return context
    }

    private var pendingMembers: [Object] {
        guard case .pending(let pending) = owner._$link.owner else { return [] }
        return (pending.many[relationship] ?? []).compactMap { $0 as? Object }
    }

    /// The number of members.
    public var count: Int {
        get throws { try known?.count ?? queried?.count(query) ?? 0 }
    }

    /// Whether the relationship is empty.
    public var isEmpty: Bool {
        get throws { try known?.isEmpty ?? queried.map { try !$0.exists(query) } ?? true }
    }

    /// The first member.
    public var first: Object? {
        get throws { try known.map(\.first) ?? queried?.first(query) }
    }

    /// The last member.
    public var last: Object? {
        get throws { try known.map(\.last) ?? queried?.last(query) }
    }

    /// The first `count` members.
    public func first(_ count: Int) throws -> [Object] {
        try context.map { try $0.first(count, of: query) } ?? Array(pendingMembers.prefix(count))
    }

    /// The last `count` members, in their order.
    public func last(_ count: Int) throws -> [Object] {
        try context.map { try $0.last(count, of: query) } ?? Array(pendingMembers.suffix(count))
    }

    /// The ids of the members.
    public var ids: [ObjectID<Object>] {
        get throws { try context.map { try $0.ids(query) } ?? [] }
    }

    /// Whether the object is a member.
    public func contains(_ object: Object) throws -> Bool {
        guard let context else { return pendingMembers.contains { $0 === object } }
        guard object.id.isAssigned else { return false }
        return try context.exists(query.where { _ in Object._$expression(id: ()) == object.id })
    }
}

/// Some of the members of a to-many relationship, as a query that is not yet run.
///
/// Isolation: that of the owner.
@dynamicMemberLookup
public struct Members<Object: Model>: DerivableQuery {
    let owner: any Model
    /// The underlying query, which may also run in other contexts.
    public let query: Query<Object>

    /// The members that also match a named scope: see ``Query/merging(_:)``.
    public subscript(dynamicMember scope: KeyPath<Object.Type, Query<Object>>) -> Members<Object> {
        merging(Object.self[keyPath: scope])
    }

    /// Reports members of the model that are not scopes.
    @available(*, unavailable, message: "a scope with arguments is a method in an extension of DerivableQuery")
    public subscript<Value>(dynamicMember member: KeyPath<Object.Type, Value>) -> Value {
        Object.self[keyPath: member]
    }

    /// The members that also match a query of their model: see ``Query/merging(_:)``.
    public func merging(_ other: Query<Object>) -> Members { changed(query.merging(other)) }

    private func changed(_ query: Query<Object>) -> Members { Members(owner: owner, query: query) }

    /// The members that also meet this condition: see ``Query/where(_:)-((Object.Columns)->Condition<Object>)``.
    public func `where`(_ condition: (Object.Columns) -> Condition<Object>) -> Members {
        changed(query.where(condition))
    }
    /// The members sorted additionally by this key, which breaks ties of the previous sorts.
    public func sorted(_ key: (Object.Columns) -> SortKey<Object>) -> Members { changed(query.sorted(key)) }
    /// The members sorted additionally by these keys, which break ties of the previous sorts.
    public func sorted(_ keys: (Object.Columns) -> [SortKey<Object>]) -> Members { changed(query.sorted(keys)) }
    /// The members sorted additionally by this expression, from the smallest value to the largest, which breaks ties of
    /// the previous sorts.
    public func sorted<Expression: SortExpression>(_ expression: (Object.Columns) -> Expression) -> Members
    where Expression.Root == Object { changed(query.sorted(expression)) }
    /// At most `count` members.
    public func limit(_ count: Int) -> Members { changed(query.limit(count)) }
    /// The members without the first `count`.
    public func offset(_ count: Int) -> Members { changed(query.offset(count)) }

    /// The objects, in their order.
    ///
    /// - Throws: ``StrataError`` if the store cannot be read, or `invalidState` if the owner is not inserted.
    public func fetch() throws -> [Object] { try context.fetch(query) }

    /// The number of these members.
    public var count: Int { get throws { try context.count(query) } }

    /// Whether there are no such members.
    public var isEmpty: Bool { get throws { try !context.exists(query) } }

    /// The first of these members.
    public var first: Object? { get throws { try context.first(query) } }

    /// The last of these members.
    public var last: Object? { get throws { try context.last(query) } }

    private var context: ObjectContext {
        get throws {
            owner.observeMembers()
            guard let context = owner._$link.context else {
                throw StrataError(
                    .invalidState,
                    "The object was not inserted, so its members cannot be queried. Insert it first."
                )
            }
            return context
        }
    }
}
