/// A query, or the objects of a to-many relationship, from which narrower queries are derived: ``Query``, ``Many`` and
/// ``Members``.
///
/// A scope with arguments is a method in an extension of this protocol. It chains on every query of its model and on
/// to-many relationships that lead to it:
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
/// Isolation: that of the conforming type; a query may be used anywhere.
public protocol DerivableQuery<Object> {
    /// The model of the objects.
    associatedtype Object: Model
    /// The type of the derived queries: ``Query`` for a query, ``Members`` for a relationship.
    associatedtype Narrowed: DerivableQuery where Narrowed.Object == Object, Narrowed.Narrowed == Narrowed

    /// The objects that the other query asks for as well: see ``Query/merging(_:)``.
    func merging(_ other: Query<Object>) -> Narrowed

    /// The objects that meet this condition as well: see ``Query/where(_:)``.
    func `where`(_ condition: (Object.Columns) -> Condition<Object>) -> Narrowed
}
