import Foundation

@testable import Strata

/// The row of a hand-written model, with values in the order of the schema.
protocol TestRow: ModelRow {
    var values: [StoredValue] { get set }
    init(id: ObjectID<Object>, values: [StoredValue])
}

extension TestRow {
    init(_$from reader: RowReader) throws {
        let values = Object._$schema.columns.indices.map { reader.value(at: Int32($0 + 1)) }
        self.init(id: reader.read(ObjectID<Object>.self, at: 0), values: values)
    }

    static func _$bind(_ row: UnsafePointer<Self>, to binder: inout RowBinder) throws {}
    static func _$bind(_ columns: ColumnSet, of row: UnsafePointer<Self>, to binder: inout RowBinder) throws {}
    static func _$value(_ row: UnsafePointer<Self>, at column: Int) throws -> StoredValue {
        row.pointee.values[column]
    }
    mutating func _$set(_ value: StoredValue, at column: Int) throws { values[column] = value }
    mutating func _$copy(_ columns: ColumnSet, from other: Self) {
        for column in columns { values[column] = other.values[column] }
    }
    func _$differences(from other: Self) -> ColumnSet { ColumnSet() }
    init(_$decoding decoder: RowDecoder) throws {
        self.init(id: try decoder.decode(ObjectID<Object>.self), values: [])
    }
    func _$encode(to encoder: inout RowEncoder) throws {}

    subscript(column: String) -> StoredValue {
        values[Object._$schema.columns.firstIndex { $0.name == column }!]
    }
}

enum Kind: String, AttributeValue { case essay, novel, poem }

final class Author: Model {
    struct Row: TestRow {
        typealias Object = Author
        var id: ObjectID<Author>
        var values: [StoredValue]
    }
    struct Columns: Sendable {
        let id = Author._$expression(id: ())
        let name = Author._$expression("name", String.self)
        let fee = Author._$expression("fee", Double?.self)
        let articles = Author._$expression("articles", Many<Article>.self)
    }
    static let columns = Columns()
    static let _$schema = ModelSchema(
        name: "Author",
        columns: [._$column("name", String.self), ._$column("fee", Double?.self)],
        relationships: [._$relationship("articles", Many<Article>.self, inverse: "author")]
    )
    var _$row: Row
    var _$link = ObjectLink()
    var _$state = ObjectState()
    init(_$row: Row) { self._$row = _$row }

    static let published = Author.where { $0.name == "dante" }
}

final class Article: Model {
    struct Row: TestRow {
        typealias Object = Article
        var id: ObjectID<Article>
        var values: [StoredValue]
    }
    struct Columns: Sendable {
        let id = Article._$expression(id: ())
        let slug = Article._$expression("slug", String.self)
        let title = Article._$expression("title", String.self)
        let subtitle = Article._$expression("subtitle", String?.self)
        let views = Article._$expression("views", Int.self)
        let length = Article._$expression("length", Int?.self)
        let publishedAt = Article._$expression("publishedAt", Date?.self)
        let kind = Article._$expression("kind", Kind?.self)
        let price = Article._$expression("price", Decimal?.self)
        let size = Article._$expression("size", UInt64?.self)
        let author = Article._$expression("author", Author?.self)
        let comments = Article._$expression("comments", Many<Comment>.self)
        let cover = Article._$expression(derived: "cover", Cover?.self)
    }
    static let columns = Columns()
    static let _$schema = ModelSchema(
        name: "Article",
        columns: [
            ._$column("slug", String.self), ._$column("title", String.self), ._$column("subtitle", String?.self),
            ._$column("views", Int.self), ._$column("length", Int?.self), ._$column("publishedAt", Date?.self),
            ._$column("kind", Kind?.self), ._$column("price", Decimal?.self), ._$column("size", UInt64?.self),
            ._$column("author", Author?.self),
        ],
        relationships: [
            ._$relationship("comments", Many<Comment>.self, inverse: "article"),
            ._$relationship("cover", Cover?.self, inverse: "article"),
        ]
    )
    var _$row: Row
    var _$link = ObjectLink()
    var _$state = ObjectState()
    init(_$row: Row) { self._$row = _$row }

    static let published = Article.where { $0.publishedAt != nil }.sorted { $0.publishedAt.descending }
    static var recent: Query<Article> { all.limit(2) }
    static let byTitle = Article.sorted { $0.title.ascending }
}

extension Article.Columns {
    var isLong: Condition<Article> { length > 100 }
}

final class Comment: Model {
    struct Row: TestRow {
        typealias Object = Comment
        var id: ObjectID<Comment>
        var values: [StoredValue]
    }
    struct Columns: Sendable {
        let id = Comment._$expression(id: ())
        let text = Comment._$expression("text", String.self)
        let likes = Comment._$expression("likes", Int?.self)
        let article = Comment._$expression("article", Article?.self)
    }
    static let columns = Columns()
    static let _$schema = ModelSchema(
        name: "Comment",
        columns: [
            ._$column("text", String.self), ._$column("likes", Int?.self), ._$column("article", Article?.self),
        ]
    )
    var _$row: Row
    var _$link = ObjectLink()
    var _$state = ObjectState()
    init(_$row: Row) { self._$row = _$row }
}

final class Cover: Model {
    struct Row: TestRow {
        typealias Object = Cover
        var id: ObjectID<Cover>
        var values: [StoredValue]
    }
    struct Columns: Sendable {
        let id = Cover._$expression(id: ())
        let color = Cover._$expression("color", String.self)
        let article = Cover._$expression("article", Article?.self)
    }
    static let columns = Columns()
    static let _$schema = ModelSchema(
        name: "Cover",
        columns: [._$column("color", String.self), ._$column("article", Article?.self)]
    )
    var _$row: Row
    var _$link = ObjectLink()
    var _$state = ObjectState()
    init(_$row: Row) { self._$row = _$row }
}

final class Writer: Model {
    struct Row: TestRow {
        typealias Object = Writer
        var id: ObjectID<Writer>
        var values: [StoredValue]
    }
    struct Columns: Sendable {
        let id = Writer._$expression(id: ())
        let name = Writer._$expression("name", String.self)
        let spouses = Writer._$expression("spouses", Many<Spouse>.self)
    }
    static let columns = Columns()
    static let _$schema = ModelSchema(
        name: "Writer",
        columns: [._$column("name", String.self)],
        relationships: [._$relationship("spouses", Many<Spouse>.self, ordered: true, inverse: "writers")]
    )
    var _$row: Row
    var _$link = ObjectLink()
    var _$state = ObjectState()
    init(_$row: Row) { self._$row = _$row }
}

final class Spouse: Model {
    struct Row: TestRow {
        typealias Object = Spouse
        var id: ObjectID<Spouse>
        var values: [StoredValue]
    }
    struct Columns: Sendable {
        let id = Spouse._$expression(id: ())
        let name = Spouse._$expression("name", String.self)
        let writers = Spouse._$expression("writers", Many<Writer>.self)
    }
    static let columns = Columns()
    static let _$schema = ModelSchema(
        name: "Spouse",
        columns: [._$column("name", String.self)],
        relationships: [._$relationship("writers", Many<Writer>.self)]
    )
    var _$row: Row
    var _$link = ObjectLink()
    var _$state = ObjectState()
    init(_$row: Row) { self._$row = _$row }
}
