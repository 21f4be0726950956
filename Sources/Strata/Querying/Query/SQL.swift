/// Handwritten SQL, for queries that typed queries cannot express.
///
/// Interpolated values are bound; their text never becomes part of the statement. Tables, columns and ids can be
/// interpolated too:
///
/// ```swift
/// let least = 100
/// let sql: SQL = """
///     SELECT a.\(Article.columns.title), count(*) AS number
///     FROM \(Article.self) AS a JOIN \(Comment.self) AS c ON c.\(Comment.columns.article) = a.id
///     WHERE a.\(Article.columns.views) > \(least) GROUP BY a.id
///     """
/// for row in try context.rows(sql) { print(try row.value(String.self, "title")) }
/// ```
///
/// - **Values**: `\(value)` for an attribute value, an optional one, or an id; `\(list: values)` after `IN`
/// - **Tables**: `\(Article.self)`, which includes unsaved changes as every query does. The interpolation is a
///   subquery, so give it an alias. A table that is written as text shows only committed rows.
/// - **Members**: `\(Article.columns.tags)` for a to-many relationship is a subquery with the ids of both sides, in the
///   columns `owner` and `member`.
/// - **Columns**: `\(Article.columns.title)` is the name of the column. In ``Condition/sql(_:)`` and ``Column/sql(_:)``
///   it is the column of the queried object, also through to-one relationships: `\($0.author.name)`.
/// - **SQL**: `\(sql)` inserts one piece of SQL into another.
///
/// The store holds values as SQLite's types:
///
/// - Integers and `Bool` are INTEGER. A `UInt64` beyond `Int64.max` is a BLOB.
/// - `Double`, `Float` and `Date` are REAL. A date is stored as seconds since 1 January 2001, in SQL
///   `datetime(column + 978307200, 'unixepoch')`.
/// - `String` and `URL` are TEXT. `Decimal` is TEXT that the collation `strata_decimal` compares by value.
/// - `UUID` is its sixteen bytes, `Codable` values are JSON text, and a relationship is the number of an id.
///
/// Isolation: a value, usable anywhere.
public struct SQL: Sendable, ExpressibleByStringInterpolation {
    var fragments: [Fragment]

    enum Fragment: Sendable {
        case text(String)
        case value(ValueNode)
        case list([ValueNode])
        case table(ModelReference)
        /// The pairs of owners and members of a to-many relationship.
        case members(MembersNode, of: ModelReference)
        /// An expression about an object of the model; nil if a relationship path leads to the object.
        case expression(ExpressionNode, of: ModelReference?)
    }

    public init(stringLiteral text: String) { fragments = [.text(text)] }

    public init(stringInterpolation: StringInterpolation) { fragments = stringInterpolation.fragments }

    func prefixed(by path: RelationshipPath) -> SQL {
        var result = self
        result.fragments = fragments.map { fragment in
            guard case .expression(let node, _) = fragment else { return fragment }
            return .expression(node.prefixed(by: path), of: nil)
        }
        return result
    }
}

extension SQL {
    /// The interpolation of a piece of SQL.
    public struct StringInterpolation: StringInterpolationProtocol {
        var fragments: [Fragment] = []

        public init(literalCapacity: Int, interpolationCount: Int) {
            fragments.reserveCapacity(2 * interpolationCount + 1)
        }

        public mutating func appendLiteral(_ text: String) {
            if !text.isEmpty { fragments.append(.text(text)) }
        }

        /// A bound value.
        public mutating func appendInterpolation<Value: AttributeValue>(_ value: Value) {
            fragments.append(.value(ValueNode(value)))
        }

        /// A bound value; NULL for nil.
        public mutating func appendInterpolation<Value: AttributeValue>(_ value: Value?) {
            fragments.append(.value(value.map { ValueNode($0) } ?? .stored(.null)))
        }

        /// The number of an id, which is bound.
        public mutating func appendInterpolation<Object: Model>(_ id: ObjectID<Object>) {
            fragments.append(.value(ValueNode(id)))
        }

        /// Values in parentheses, for `IN`. Each value is bound. Any number of values can be given.
        public mutating func appendInterpolation<Value: AttributeValue>(list values: some Sequence<Value>) {
            fragments.append(.list(values.map { ValueNode($0) }))
        }

        /// The numbers of ids in parentheses, for `IN`.
        public mutating func appendInterpolation<Object: Model>(list ids: some Sequence<ObjectID<Object>>) {
            fragments.append(.list(ids.map { ValueNode($0) }))
        }

        /// The objects of a model, including unsaved changes. The result is a subquery that needs an alias.
        public mutating func appendInterpolation<Object: Model>(_ model: Object.Type) {
            fragments.append(.table(ModelReference(model)))
        }

        /// A column.
        public mutating func appendInterpolation<Root: Model, Value>(_ column: Column<Root, Value>) {
            fragments.append(.expression(column.node, of: ModelReference(Root.self)))
        }

        /// The column `id`, or the column of a to-one relationship.
        public mutating func appendInterpolation<Root: Model, Object>(_ column: IDColumn<Root, Object>) {
            fragments.append(.expression(column.node, of: ModelReference(Root.self)))
        }

        /// The column of a to-one relationship.
        public mutating func appendInterpolation<Root: Model, Object>(_ relationship: ToOne<Root, Object>) {
            fragments.append(.expression(.id(relationship._$path), of: ModelReference(Root.self)))
        }

        /// The pairs of owners and members of a to-many relationship, including unsaved changes.
        ///
        /// The result is a subquery with the columns `owner` and `member` that needs an alias.
        public mutating func appendInterpolation<Root: Model, Member>(
            _ relationship: RelationshipExpression<Root, Member>
        ) {
            fragments.append(.members(relationship.members, of: ModelReference(Root.self)))
        }

        /// Another piece of SQL.
        public mutating func appendInterpolation(_ sql: SQL) { fragments += sql.fragments }
    }
}

extension Condition where Root: Model {
    /// A condition in SQL about the columns of the queried object.
    ///
    /// ```swift
    /// Article.where { $0.views > 3 && .sql("length(\($0.title)) % 2 = \(1)") }
    /// ```
    ///
    /// NULL counts as false. SQLite parses the text when the query runs. If SQLite cannot parse the text, the query
    /// throws ``StrataError/Code/invalidQuery``.
    public static func sql(_ sql: SQL) -> Condition { Condition(.sql(sql)) }
}

extension Column where Root: Model {
    /// A value that SQL calculates from the columns of the queried object, for sorts, groups and comparisons.
    ///
    /// ```swift
    /// Article.grouped { Column<Article, String?>.sql("strftime('%Y', \($0.publishedAt) + 978307200, 'unixepoch')") }
    /// ```
    ///
    /// The SQL must yield a value in the form in which the column's type is stored. Use an optional type if the SQL can
    /// yield NULL.
    public static func sql(_ sql: SQL) -> Column { Column(.sql(sql, ValueKind(Value.Unwrapped.self))) }
}
