/// SQL written by hand, for what typed queries do not say.
///
/// Interpolated values are bound; no text ever becomes part of the statement. Tables, columns and ids are interpolated
/// too:
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
/// - **Values**: `\(value)` of an attribute's type, an optional one, or an id; `\(list: values)` behind `IN`
/// - **Tables**: `\(Article.self)`, which shows unsaved changes as every query does. It stands for a subquery, so give it an
///   alias. A table that is written as text shows what is committed.
/// - **Members**: `\(Article.columns.tags)` of a to-many relationship stands for a subquery with the ids of both sides, in the
///   columns `owner` and `member`.
/// - **Columns**: `\(Article.columns.title)` is the name of the column. In ``Condition/sql(_:)`` and ``Column/sql(_:)`` it
///   is the column of the object in question, also through to-one relationships: `\($0.author.name)`.
/// - **SQL**: `\(sql)` puts one piece into another.
///
/// Values stand in the store as SQLite's types: integers and `Bool` as INTEGER, `Double`, `Float` and `Date` as REAL (a
/// date as seconds since 1 January 2001, in SQL `datetime(column + 978307200, 'unixepoch')`), `String` and `URL` as TEXT,
/// `Decimal` as TEXT that the collation `strata_decimal` compares by value, `UUID` as its sixteen bytes, `Codable` values
/// as JSON text, a relationship as the number of an id. A `UInt64` beyond `Int64.max` is a BLOB.
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
        /// An expression about an object of the model; nil where a relationship has led there.
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
    /// What is between the quotes of a piece of SQL.
    public struct StringInterpolation: StringInterpolationProtocol {
        var fragments: [Fragment] = []

        public init(literalCapacity: Int, interpolationCount: Int) {
            fragments.reserveCapacity(2 * interpolationCount + 1)
        }

        public mutating func appendLiteral(_ text: String) {
            if !text.isEmpty { fragments.append(.text(text)) }
        }

        /// A value, which is bound.
        public mutating func appendInterpolation<Value: AttributeValue>(_ value: Value) {
            fragments.append(.value(ValueNode(value)))
        }

        /// A value, which is bound; NULL for nil.
        public mutating func appendInterpolation<Value: AttributeValue>(_ value: Value?) {
            fragments.append(.value(value.map { ValueNode($0) } ?? .stored(.null)))
        }

        /// The number of an id, which is bound.
        public mutating func appendInterpolation<Object: Model>(_ id: ObjectID<Object>) {
            fragments.append(.value(ValueNode(id)))
        }

        /// Values in parentheses, for `IN`. Each of them is bound; there may be any number.
        public mutating func appendInterpolation<Value: AttributeValue>(list values: some Sequence<Value>) {
            fragments.append(.list(values.map { ValueNode($0) }))
        }

        /// The numbers of ids in parentheses, for `IN`.
        public mutating func appendInterpolation<Object: Model>(list ids: some Sequence<ObjectID<Object>>) {
            fragments.append(.list(ids.map { ValueNode($0) }))
        }

        /// The objects of a model, with unsaved changes: a subquery, to be given an alias.
        public mutating func appendInterpolation<Object: Model>(_ model: Object.Type) {
            fragments.append(.table(ModelReference(model)))
        }

        /// A column.
        public mutating func appendInterpolation<Root: Model, Value>(_ column: Column<Root, Value>) {
            fragments.append(.expression(column.node, of: ModelReference(Root.self)))
        }

        /// The column `id`, or that of a to-one relationship.
        public mutating func appendInterpolation<Root: Model, Object>(_ column: IDColumn<Root, Object>) {
            fragments.append(.expression(column.node, of: ModelReference(Root.self)))
        }

        /// The column of a to-one relationship.
        public mutating func appendInterpolation<Root: Model, Object>(_ relationship: ToOne<Root, Object>) {
            fragments.append(.expression(.id(relationship._$path), of: ModelReference(Root.self)))
        }

        /// The pairs of a to-many relationship, with unsaved changes: a subquery with the columns `owner` and `member`, to be
        /// given an alias.
        public mutating func appendInterpolation<Root: Model, Member>(_ relationship: ToMany<Root, Member>) {
            fragments.append(.members(relationship.members, of: ModelReference(Root.self)))
        }

        /// Another piece of SQL.
        public mutating func appendInterpolation(_ sql: SQL) { fragments += sql.fragments }
    }
}

extension Condition where Root: Model {
    /// A condition in SQL, about the columns of the queried object:
    ///
    /// ```swift
    /// Article.where { $0.views > 3 && .sql("length(\($0.title)) % 2 = \(1)") }
    /// ```
    ///
    /// NULL counts as false. What SQLite makes of the text is known when the query runs, and where it cannot read it, that is
    /// thrown as ``StrataError/Code/invalidQuery``.
    public static func sql(_ sql: SQL) -> Condition { Condition(.sql(sql)) }
}

extension Column where Root: Model {
    /// A value that SQL calculates from the columns of the queried object, for sorts, groups and comparisons:
    ///
    /// ```swift
    /// Article.grouped { Column<Article, String?>.sql("strftime('%Y', \($0.publishedAt) + 978307200, 'unixepoch')") }
    /// ```
    ///
    /// It must come out as a value that the column's type is stored as. Say an optional type where it may be NULL.
    public static func sql(_ sql: SQL) -> Column { Column(.sql(sql, ValueKind(Value.Unwrapped.self))) }
}
