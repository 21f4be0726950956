/// Relationships that are read along with the objects of a query. Made by ``ToMany/with(_:)-((Member.Columns)->ToOne<Member,_>)``.
public struct Prefetch<Root: Model>: Sendable {
    let node: PrefetchNode
}

/// A relationship that is read along with objects, free of generic types.
struct PrefetchNode: Sendable {
    let relationship: String
    let destination: ModelReference
    /// Whether the objects themselves have the ids of what it leads to.
    let hasColumn: Bool
    /// What is read along with what it leads to.
    var children: [PrefetchNode] = []
}

extension PrefetchNode {
    /// The relationships of a path, each inside of the one before, and `last` at the end.
    init(_ path: RelationshipPath, _ last: PrefetchNode) {
        self = path.hops.reversed().reduce(last) { inner, hop in
            PrefetchNode(hop, children: [inner])
        }
    }

    /// The relationships of a path, which has at least one.
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
    /// Adds relationships, so that none of them is read twice.
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
    /// The objects together with those at the end of a to-one relationship, which then are read from memory:
    ///
    /// ```swift
    /// for article in try context.fetch(Article.published.with { $0.author.publisher }) {
    ///     print(article.title, article.author?.publisher?.name ?? "-")    // no further query
    /// }
    /// ```
    ///
    /// Each relationship costs one query for all objects, those on the way count too. Results of other kinds than objects do
    /// not read it.
    public func with<Destination: Model>(
        _ relationship: (Object.Columns) -> ToOne<Object, Destination>
    ) -> Query {
        with(PrefetchNode(relationship(Object.columns)._$path))
    }

    /// The objects together with the members of a to-many relationship:
    ///
    /// ```swift
    /// for author in try context.fetch(Author.all.with { $0.articles }) {
    ///     print(author.name, try author.articles.fetch().count)    // no further query
    /// }
    /// ```
    ///
    /// It costs one query for all objects. `fetch`, `count`, `isEmpty`, `first` and `last` of the relationship are answered by
    /// what was read for as long as that is certainly right: within the block, until members come, go or are moved, or the
    /// context sees what others have done. Then, and for other questions about the members, the store is asked.
    public func with<Member: Model>(_ relationship: (Object.Columns) -> ToMany<Object, Member>) -> Query {
        with(PrefetchNode(relationship(Object.columns).members))
    }

    /// The objects together with the members of a to-many relationship, and what these are related to:
    /// `Author.all.with { $0.articles.with { $0.comments } }`.
    public func with(_ relationships: (Object.Columns) -> Prefetch<Object>) -> Query {
        with(relationships(Object.columns).node)
    }

    private func with(_ node: PrefetchNode) -> Query { changed { $0.prefetches.add([node]) } }
}

extension ToMany {
    /// The members together with what a to-one relationship of theirs leads to, for `with` of a query.
    public func with<Destination: Model>(
        _ relationship: (Member.Columns) -> ToOne<Member, Destination>
    ) -> Prefetch<Root> {
        with(PrefetchNode(relationship(Member.columns)._$path))
    }

    /// The members together with the members of a relationship of theirs, for `with` of a query.
    public func with<Next: Model>(
        _ relationship: (Member.Columns) -> ToMany<Member, Next>
    ) -> Prefetch<Root> {
        with(PrefetchNode(relationship(Member.columns).members))
    }

    /// The same another level down.
    public func with(_ relationships: (Member.Columns) -> Prefetch<Member>) -> Prefetch<Root> {
        with(relationships(Member.columns).node)
    }

    private func with(_ node: PrefetchNode) -> Prefetch<Root> {
        Prefetch(node: PrefetchNode(members, children: [node]))
    }
}

extension Model {
    /// All objects together with those at the end of a to-one relationship.
    public static func with<Destination: Model>(
        _ relationship: (Columns) -> ToOne<Self, Destination>
    ) -> Query<Self> { all.with(relationship) }

    /// All objects together with the members of a to-many relationship.
    public static func with<Member: Model>(_ relationship: (Columns) -> ToMany<Self, Member>) -> Query<Self> {
        all.with(relationship)
    }

    /// All objects together with the members of a to-many relationship, and what these are related to.
    public static func with(_ relationships: (Columns) -> Prefetch<Self>) -> Query<Self> { all.with(relationships) }
}
