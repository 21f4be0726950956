/// Relationships that are read together with the objects of a query.
///
/// ``RelationshipExpression/including(_:)-((Member.Columns)->ToOne<Member,Destination>)`` creates such a value.
public struct Prefetch<Root: Model>: Sendable {
    let node: PrefetchNode
}

/// A relationship that is read together with objects, without generic types.
struct PrefetchNode: Sendable {
    let relationship: String
    let destination: ModelReference
    /// Whether the objects' own rows hold the ids of the destinations.
    let hasColumn: Bool
    /// The relationships of the destinations that are read as well.
    var children: [PrefetchNode] = []
}

extension PrefetchNode {
    /// The relationships of a path, each nested in the previous one, with `last` at the end.
    init(_ path: RelationshipPath, _ last: PrefetchNode) {
        self = path.hops.reversed().reduce(last) { inner, hop in
            PrefetchNode(hop, children: [inner])
        }
    }

    /// The relationships of a path, which has at least one hop.
    init(_ path: RelationshipPath) {
        let last = path.hops[path.hops.count - 1]
        self.init(RelationshipPath(hops: path.hops.dropLast()), PrefetchNode(last))
    }

    init(_ members: MembersNode, children: [PrefetchNode] = []) {
        let last = PrefetchNode(
            relationship: members.relationship,
            destination: members.destination,
            hasColumn: false,
            children: children
        )
        self.init(members.path, last)
    }

    private init(_ hop: RelationshipPath.Hop, children: [PrefetchNode] = []) {
        self.init(
            relationship: hop.name,
            destination: hop.destination,
            hasColumn: !hop.isDerived,
            children: children
        )
    }
}

extension [PrefetchNode] {
    /// Adds relationships and merges equal ones, so that no relationship is read twice.
    mutating func add(_ nodes: [PrefetchNode]) {
        for node in nodes {
            if let index = firstIndex(where: { $0.relationship == node.relationship }) {
                self[index].children.add(node.children)
            } else {
                append(node)
            }
        }
    }
}

extension Query {
    /// Reads the objects together with the destinations of a to-one relationship.
    ///
    /// The destinations are then read from memory:
    ///
    /// ```swift
    /// for article in try context.fetch(Article.published.including { $0.author.publisher }) {
    ///     print(article.title, article.author?.publisher?.name ?? "-")    // no further query
    /// }
    /// ```
    ///
    /// Each relationship costs one query for all objects, including the relationships on the way. If the result
    /// consists of anything other than objects, the relationship is not read.
    public func including<Destination: Model>(
        _ relationship: (Object.Columns) -> ToOne<Object, Destination>
    ) -> Query {
        including(PrefetchNode(relationship(Object.columns)._$path))
    }

    /// Reads the objects together with the members of a to-many relationship.
    ///
    /// ```swift
    /// for author in try context.fetch(Author.all.including { $0.articles }) {
    ///     print(author.name, try author.articles.fetch().count)    // no further query
    /// }
    /// ```
    ///
    /// The relationship costs one query for all objects. Its `fetch`, `count`, `isEmpty`, `first` and `last` use the
    /// prefetched members as long as they are certain to be current. They are current within the block, until members
    /// are added, removed or moved, or until the context sees changes by others. After that, and for other queries
    /// about the members, the context queries the store.
    public func including<Member: Model>(_ relationship: (Object.Columns) -> RelationshipExpression<Object, Member>)
        -> Query
    {
        including(PrefetchNode(relationship(Object.columns).members))
    }

    /// Reads the objects together with the members of a to-many relationship and the members' relationships.
    ///
    /// For example: `Author.all.including { $0.articles.including { $0.comments } }`.
    public func including(_ relationships: (Object.Columns) -> Prefetch<Object>) -> Query {
        including(relationships(Object.columns).node)
    }

    private func including(_ node: PrefetchNode) -> Query { changed { $0.prefetches.add([node]) } }
}

extension RelationshipExpression {
    /// The members together with the destination of their to-one relationship, for `including` of a query.
    public func including<Destination: Model>(
        _ relationship: (Member.Columns) -> ToOne<Member, Destination>
    ) -> Prefetch<Root> {
        including(PrefetchNode(relationship(Member.columns)._$path))
    }

    /// The members together with the members of their to-many relationship, for `including` of a query.
    public func including<Next: Model>(
        _ relationship: (Member.Columns) -> RelationshipExpression<Member, Next>
    ) -> Prefetch<Root> {
        including(PrefetchNode(relationship(Member.columns).members))
    }

    /// The members together with nested relationships, for `including` of a query.
    public func including(_ relationships: (Member.Columns) -> Prefetch<Member>) -> Prefetch<Root> {
        including(relationships(Member.columns).node)
    }

    private func including(_ node: PrefetchNode) -> Prefetch<Root> {
        Prefetch(node: PrefetchNode(members, children: [node]))
    }
}

extension Model {
    /// All objects together with the destinations of a to-one relationship.
    public static func including<Destination: Model>(
        _ relationship: (Columns) -> ToOne<Self, Destination>
    ) -> Query<Self> { all.including(relationship) }

    /// All objects together with the members of a to-many relationship.
    public static func including<Member: Model>(_ relationship: (Columns) -> RelationshipExpression<Self, Member>)
        -> Query<Self>
    {
        all.including(relationship)
    }

    /// All objects together with the members of a to-many relationship and the members' relationships.
    public static func including(_ relationships: (Columns) -> Prefetch<Self>) -> Query<Self> {
        all.including(relationships)
    }
}
