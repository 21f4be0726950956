import Testing

@Suite("Expansion of @Model")
struct ModelExpansionTests {
    @Test("A class with attributes and to-one, to-many and derived one-to-one relationships expands completely")
    func article() {
        expectExpansion(
            #"""
            @Model(.unique("slug", "author"), .index("views"), originalName: "Post") public final class Article {
                @Attribute(.unique, originalName: "handle") var slug: String
                public var views: Int = 0
                var author: Author?
                @Relationship(deleteRule: .cascade, inverse: \Comment.article, originalName: "notes") var comments: Many<Comment>
                @Relationship(inverse: \Cover.article) var cover: Cover?
            }
            """#,
            #"""
            public final class Article {
                var slug: String {
                    get {
                        _$willRead(0)
                        return _$row.slug
                    }
                    set {
                        if String._$isSame(_$row.slug, newValue) {
                            return
                        }
                        _$willChange(0)
                        _$row.slug = newValue
                    }
                }
                public var views: Int {
                    get {
                        _$willRead(1)
                        return _$row.views
                    }
                    set {
                        if Int._$isSame(_$row.views, newValue) {
                            return
                        }
                        _$willChange(1)
                        _$row.views = newValue
                    }
                }
                var author: Author? {
                    get {
                        _$willRead(2)
                        return Strata.RowSupport.load(_$row.author, as: (Author?).self, of: self, at: 2)
                    }
                    set {
                        let stored = Strata.RowSupport.store(newValue, as: (Author?).self, in: self, at: 2)
                        if Strata.RowSupport.isSame(_$row.author, stored, as: (Author?).self) {
                            return
                        }
                        _$willChange(2)
                        _$row.author = stored
                    }
                }
                var comments: Many<Comment> {
                    get {
                        Strata.Many(_$owner: self, relationship: 0)
                    }
                }
                var cover: Cover? {
                    get {
                        _$derived(1)
                    }
                    set {
                        _$setDerived(newValue, 1)
                    }
                }

                public nonisolated struct Row: Strata.ModelRow {
                    public var id: Strata.ObjectID<Article>
                    var slug: String
                    public var views: Int
                    var author: (Author?).Stored
                    init(_ id: Strata.ObjectID<Article>, _ slug: String, _ views: Int, _ author: (Author?).Stored) {
                        self.id = id
                        self.slug = slug
                        self.views = views
                        self.author = author
                    }
                    public init(_$from reader: Strata.RowReader) throws {
                        self.id = reader.read(Strata.ObjectID<Article>.self, at: 0)
                        do {
                            self.slug = try reader.read(String.self, at: 1)
                            self.views = try reader.read(Int.self, at: 2)
                            self.author = try reader.read((Author?).self, at: 3)
                        } catch {
                            throw reader._$locate(error, in: Article.self)
                        }
                    }
                    public static func _$bind(_ row: Swift.UnsafePointer<Self>, to binder: inout Strata.RowBinder) throws {
                        try unsafe binder.bind(row.pointee.id, at: 1)
                        try unsafe binder.bind(row.pointee.slug, at: 2)
                        try unsafe binder.bind(row.pointee.views, at: 3)
                        try unsafe binder.bind(row.pointee.author, at: 4)
                    }
                    public static func _$bind(_ columns: Strata.ColumnSet, of row: Swift.UnsafePointer<Self>, to binder: inout Strata.RowBinder) throws {
                        var index: Int32 = 0
                        if columns.contains(0) {
                            index += 1
                            try unsafe binder.bind(row.pointee.slug, at: index)
                        }
                        if columns.contains(1) {
                            index += 1
                            try unsafe binder.bind(row.pointee.views, at: index)
                        }
                        if columns.contains(2) {
                            index += 1
                            try unsafe binder.bind(row.pointee.author, at: index)
                        }
                    }
                    public static func _$value(_ row: Swift.UnsafePointer<Self>, at column: Int) throws -> Strata.StoredValue {
                        switch column {
                        case 0:
                            return try unsafe Strata.RowSupport.stored(row.pointee.slug)
                        case 1:
                            return try unsafe Strata.RowSupport.stored(row.pointee.views)
                        case 2:
                            return try unsafe Strata.RowSupport.stored(row.pointee.author)
                        default:
                            throw Strata.RowSupport.noColumn(column, of: Article.self)
                        }
                    }
                    public mutating func _$set(_ value: Strata.StoredValue, at column: Int) throws {
                        switch column {
                        case 0:
                            self.slug = try Strata.RowSupport.value(value, as: String.self, at: 0, of: self.id)
                        case 1:
                            self.views = try Strata.RowSupport.value(value, as: Int.self, at: 1, of: self.id)
                        case 2:
                            self.author = try Strata.RowSupport.value(value, as: (Author?).self, at: 2, of: self.id)
                        default:
                            throw Strata.RowSupport.noColumn(column, of: Article.self)
                        }
                    }
                    public mutating func _$copy(_ columns: Strata.ColumnSet, from other: Self) {
                        if columns.contains(0) {
                            self.slug = other.slug
                        }
                        if columns.contains(1) {
                            self.views = other.views
                        }
                        if columns.contains(2) {
                            self.author = other.author
                        }
                    }
                    public func _$differences(from other: Self) -> Strata.ColumnSet {
                        var columns = Strata.ColumnSet()
                        if !String._$isSame(self.slug, other.slug) {
                            columns.insert(0)
                        }
                        if !Int._$isSame(self.views, other.views) {
                            columns.insert(1)
                        }
                        if !Strata.RowSupport.isSame(self.author, other.author, as: (Author?).self) {
                            columns.insert(2)
                        }
                        return columns
                    }
                    public init(_$decoding decoder: Strata.RowDecoder) throws {
                        self.id = try decoder.decode(Strata.ObjectID<Article>.self)
                        self.slug = try decoder.decode(String.self, at: 0)
                        self.views = try decoder.decode(Int.self, at: 1)
                        self.author = try decoder.decode((Author?).self, at: 2)
                    }
                    public func _$encode(to encoder: inout Strata.RowEncoder) throws {
                        try encoder.encode(self.slug, at: 0)
                        try encoder.encode(self.views, at: 1)
                        try encoder.encode(self.author, at: 2)
                    }
                }

                public nonisolated struct Columns: Swift.Sendable {
                    public let id = Article._$expression(id: ())
                    let slug = Article._$expression("slug", String.self)
                    public let views = Article._$expression("views", Int.self)
                    let author = Article._$expression("author", (Author?).self)
                    let comments = Article._$expression("comments", Many<Comment>.self)
                    let cover = Article._$expression(derived: "cover", (Cover?).self)
                    public init() {
                    }
                }

                public static let columns = Columns()

                public static let _$schema = Strata.ModelSchema(
                    name: "Article",
                    originalName: "Post",
                    columns: [
                        ._$column("slug", String.self, [.unique, .originalName("handle")]),
                        ._$column("views", Int.self, [._$literalDefault], default: {
                                0
                            }),
                        ._$column("author", (Author?).self),
                    ],
                    relationships: [
                        ._$relationship("comments", Many<Comment>.self, deleteRule: .cascade, inverse: "article", originalName: "notes"),
                        ._$relationship("cover", (Cover?).self, inverse: "article"),
                    ],
                    options: [
                        .unique("slug", "author"),
                        .index("views"),
                    ],
                    hooks: Strata.ModelHooks(
                        willInsert: ._$hook(Article.willInsert),
                        willUpdate: ._$hook(Article.willUpdate),
                        willDelete: ._$calm(Article.willDelete),
                        didFetch: ._$calm(Article.didFetch),
                        validate: ._$validation(Article.validate(in:_:)),
                        validateDelete: ._$validation(Article.validateDelete(in:_:)),
                        validateRow: ._$rowValidation(Article.validate(_:_:))
                    )
                )

                @safe @exclusivity(unchecked) public var _$row: Row

                @safe @exclusivity(unchecked) public var _$link = Strata.ObjectLink()

                @safe @exclusivity(unchecked) public var _$state = Strata.ObjectState()

                public var id: Strata.ObjectID<Article> {
                    _$row.id
                }

                public var snapshot: Row {
                    _$willReadAll()
                    return _$row
                }

                public init(_$row: Row) {
                    self._$row = _$row
                }

                init(slug: String, views: Int = 0, author: Author? = nil, cover: Cover? = nil) {
                    self._$row = Row(.unassigned, slug, views, nil)
                    self.author = author
                    if cover != nil {
                        self.cover = cover
                    }
                }
            }

            nonisolated extension Article: Strata.Model {
            }
            """#
        )
    }
}
