import Testing

@Suite("Expansion of @Model in special cases")
struct SpecialExpansionTests {
    @Test("A nonisolated class gets nonisolated members; transient and computed properties are left alone")
    func note() {
        expectExpansion(
            #"""
            @Model nonisolated final class Note {
                private var kind: Kind = .plain
                var `class`: String?
                @Transient var cache: Int = 0
                var shout: String { "!" }
            }
            """#,
            #"""
            nonisolated final class Note {
                private var kind: Kind {
                    get {
                        _$willRead(0)
                        return Strata.RowSupport.load(_$row.kind, as: Kind.self, of: self, at: 0)
                    }
                    set {
                        let stored = Strata.RowSupport.store(newValue, as: Kind.self, in: self, at: 0)
                        if Strata.RowSupport.isSame(_$row.kind, stored, as: Kind.self) {
                            return
                        }
                        _$willChange(0)
                        _$row.kind = stored
                    }
                }
                var `class`: String? {
                    get {
                        _$willRead(1)
                        return _$row.`class`
                    }
                    set {
                        if (String?)._$isSame(_$row.`class`, newValue) {
                            return
                        }
                        _$willChange(1)
                        _$row.`class` = newValue
                    }
                }
                var cache: Int = 0
                var shout: String { "!" }

                nonisolated struct Row: Strata.ModelRow {
                    var id: Strata.ObjectID<Note>
                    fileprivate var kind: (Kind).Stored
                    var `class`: String?
                    fileprivate init(_ id: Strata.ObjectID<Note>, _ kind: (Kind).Stored, _ `class`: String?) {
                        self.id = id
                        self.kind = kind
                        self.`class` = `class`
                    }
                    init(_$from reader: Strata.RowReader) throws {
                        self.id = reader.read(Strata.ObjectID<Note>.self, at: 0)
                        do {
                            self.kind = try reader.read(Kind.self, at: 1)
                            self.`class` = try reader.read((String?).self, at: 2)
                        } catch {
                            throw reader._$locate(error, in: Note.self)
                        }
                    }
                    static func _$bind(_ row: Swift.UnsafePointer<Self>, to binder: inout Strata.RowBinder) throws {
                        try unsafe binder.bind(row.pointee.id, at: 1)
                        try unsafe binder.bind(row.pointee.kind, at: 2)
                        try unsafe binder.bind(row.pointee.`class`, at: 3)
                    }
                    static func _$bind(_ columns: Strata.ColumnSet, of row: Swift.UnsafePointer<Self>, to binder: inout Strata.RowBinder) throws {
                        var index: Int32 = 0
                        if columns.contains(0) {
                            index += 1
                            try unsafe binder.bind(row.pointee.kind, at: index)
                        }
                        if columns.contains(1) {
                            index += 1
                            try unsafe binder.bind(row.pointee.`class`, at: index)
                        }
                    }
                    static func _$value(_ row: Swift.UnsafePointer<Self>, at column: Int) throws -> Strata.StoredValue {
                        switch column {
                        case 0:
                            return try unsafe Strata.RowSupport.stored(row.pointee.kind)
                        case 1:
                            return try unsafe Strata.RowSupport.stored(row.pointee.`class`)
                        default:
                            throw Strata.RowSupport.noColumn(column, of: Note.self)
                        }
                    }
                    mutating func _$set(_ value: Strata.StoredValue, at column: Int) throws {
                        switch column {
                        case 0:
                            self.kind = try Strata.RowSupport.value(value, as: Kind.self, at: 0, of: self.id)
                        case 1:
                            self.`class` = try Strata.RowSupport.value(value, as: (String?).self, at: 1, of: self.id)
                        default:
                            throw Strata.RowSupport.noColumn(column, of: Note.self)
                        }
                    }
                    mutating func _$copy(_ columns: Strata.ColumnSet, from other: Self) {
                        if columns.contains(0) {
                            self.kind = other.kind
                        }
                        if columns.contains(1) {
                            self.`class` = other.`class`
                        }
                    }
                    func _$differences(from other: Self) -> Strata.ColumnSet {
                        var columns = Strata.ColumnSet()
                        if !Strata.RowSupport.isSame(self.kind, other.kind, as: Kind.self) {
                            columns.insert(0)
                        }
                        if !(String?)._$isSame(self.`class`, other.`class`) {
                            columns.insert(1)
                        }
                        return columns
                    }
                    init(_$decoding decoder: Strata.RowDecoder) throws {
                        self.id = try decoder.decode(Strata.ObjectID<Note>.self)
                        self.kind = try decoder.decode(Kind.self, at: 0)
                        self.`class` = try decoder.decode((String?).self, at: 1)
                    }
                    func _$encode(to encoder: inout Strata.RowEncoder) throws {
                        try encoder.encode(self.kind, at: 0)
                        try encoder.encode(self.`class`, at: 1)
                    }
                }

                nonisolated struct Columns: Swift.Sendable {
                    let id = Note._$expression(id: ())
                    fileprivate let kind = Note._$expression("kind", Kind.self)
                    let `class` = Note._$expression("class", (String?).self)
                    init() {
                    }
                }

                static let columns = Columns()

                static let _$schema = Strata.ModelSchema(
                    name: "Note",
                    columns: [
                        ._$column("kind", Kind.self, default: {
                                .plain
                            }),
                        ._$column("class", (String?).self),
                    ],
                    hooks: Strata.ModelHooks(
                        willInsert: ._$hook(Note.willInsert),
                        willUpdate: ._$hook(Note.willUpdate),
                        willDelete: ._$calm(Note.willDelete),
                        didFetch: ._$calm(Note.didFetch),
                        validate: ._$validation(Note.validate(in:_:)),
                        validateDelete: ._$validation(Note.validateDelete(in:_:)),
                        validateRow: ._$rowValidation(Note.validate(_:_:))
                    )
                )

                @safe @exclusivity(unchecked) var _$row: Row

                @safe @exclusivity(unchecked) var _$link = Strata.ObjectLink()

                @safe @exclusivity(unchecked) var _$state = Strata.ObjectState()

                var id: Strata.ObjectID<Note> {
                    _$row.id
                }

                var snapshot: Row {
                    _$willReadAll()
                    return _$row
                }

                init(_$row: Row) {
                    self._$row = _$row
                }

                init(`class`: String? = nil) {
                    self._$row = Row(.unassigned, .plain, `class`)
                }
            }

            nonisolated extension Note: Strata.Model {
            }
            """#
        )
    }

    @Test("A model without properties has an id and nothing else")
    func empty() {
        expectExpansion(
            "@Model final class Token {}",
            #"""
            final class Token {

                nonisolated struct Row: Strata.ModelRow {
                    var id: Strata.ObjectID<Token>
                    init(_ id: Strata.ObjectID<Token>) {
                        self.id = id
                    }
                    init(_$from reader: Strata.RowReader) throws {
                        self.id = reader.read(Strata.ObjectID<Token>.self, at: 0)
                    }
                    static func _$bind(_ row: Swift.UnsafePointer<Self>, to binder: inout Strata.RowBinder) throws {
                        try unsafe binder.bind(row.pointee.id, at: 1)
                    }
                    static func _$bind(_ columns: Strata.ColumnSet, of row: Swift.UnsafePointer<Self>, to binder: inout Strata.RowBinder) throws {
                    }
                    static func _$value(_ row: Swift.UnsafePointer<Self>, at column: Int) throws -> Strata.StoredValue {
                        throw Strata.RowSupport.noColumn(column, of: Token.self)
                    }
                    mutating func _$set(_ value: Strata.StoredValue, at column: Int) throws {
                        throw Strata.RowSupport.noColumn(column, of: Token.self)
                    }
                    mutating func _$copy(_ columns: Strata.ColumnSet, from other: Self) {
                    }
                    func _$differences(from other: Self) -> Strata.ColumnSet {
                        return Strata.ColumnSet()
                    }
                    init(_$decoding decoder: Strata.RowDecoder) throws {
                        self.id = try decoder.decode(Strata.ObjectID<Token>.self)
                    }
                    func _$encode(to encoder: inout Strata.RowEncoder) throws {
                    }
                }

                nonisolated struct Columns: Swift.Sendable {
                    let id = Token._$expression(id: ())
                    init() {
                    }
                }

                static let columns = Columns()

                static let _$schema = Strata.ModelSchema(
                    name: "Token",
                    columns: [],
                    hooks: Strata.ModelHooks(
                        willInsert: ._$hook(Token.willInsert),
                        willUpdate: ._$hook(Token.willUpdate),
                        willDelete: ._$calm(Token.willDelete),
                        didFetch: ._$calm(Token.didFetch),
                        validate: ._$validation(Token.validate(in:_:)),
                        validateDelete: ._$validation(Token.validateDelete(in:_:)),
                        validateRow: ._$rowValidation(Token.validate(_:_:))
                    )
                )

                @safe @exclusivity(unchecked) var _$row: Row

                @safe @exclusivity(unchecked) var _$link = Strata.ObjectLink()

                @safe @exclusivity(unchecked) var _$state = Strata.ObjectState()

                var id: Strata.ObjectID<Token> {
                    _$row.id
                }

                var snapshot: Row {
                    _$willReadAll()
                    return _$row
                }

                init(_$row: Row) {
                    self._$row = _$row
                }

                init() {
                    self._$row = Row(.unassigned)
                }
            }

            nonisolated extension Token: Strata.Model {
            }
            """#
        )
    }
}
