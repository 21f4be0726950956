/// A query or the objects of a to-many relationship, from which narrower queries can be derived.
///
/// The conforming types are ``Query``, ``Many`` and ``Members``.
///
/// A scope with arguments is a method in an extension of this protocol. The method chains on every query of its model
/// and on to-many relationships that lead to the model:
///
/// ```swift
/// extension DerivableQuery<Article> {
///     func newer(than date: Date) -> Narrowed { self.where { $0.publishedAt > date } }
/// }
///
/// try context.fetch(Article.all.newer(than: date).limit(20))
/// try author.articles.newer(than: date).fetch()
/// ```
///
/// The name of such a method hides a scope without arguments that has the same name.
///
/// Isolation: that of the conforming type. A query can be used anywhere.
public protocol DerivableQuery<Object> {
    /// The model of the objects.
    associatedtype Object: Model
    /// The type of the derived queries: ``Query`` for a query, ``Members`` for a relationship.
    associatedtype Narrowed: DerivableQuery where Narrowed.Object == Object, Narrowed.Narrowed == Narrowed

    /// The objects that both this query and the other query select: see ``Query/merging(_:)``.
    func merging(_ other: Query<Object>) -> Narrowed

    /// The objects of this query that also meet a condition: see
    /// ``Query/where(_:)-((Object.Columns)->Condition<Object>)``.
    func `where`(_ condition: (Object.Columns) -> Condition<Object>) -> Narrowed
}
