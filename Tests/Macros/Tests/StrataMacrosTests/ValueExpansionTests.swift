import Testing

@Suite("Expansion of transformers and derived attributes")
struct ValueExpansionTests {
    @Test("Transformed, optional transformed and derived attributes expand completely")
    func paint() {
        expectExpansion(
            #"""
            @Model final class Paint {
                @Attribute(.indexed, .transformed(by: HexColor.self)) var color: Color
                @Attribute(.transformed(by: HexColor.self)) var edge: Color?
                @Derived(.unique) var title: String { edge == nil ? "plain" : "edged" }
            }
            """#,
            #"""
            final class Paint {
                var color: Color {
                    get {
                        _$willRead(0)
                        return _$row.color
                    }
                    set {
                        if Strata.RowSupport.isSame(_$row.color, newValue, by: HexColor.self) {
                            return
                        }
                        _$willChange(0)
                        _$row.color = newValue
                    }
                }
                var edge: Color? {
                    get {
                        _$willRead(1)
                        return _$row.edge
                    }
                    set {
                        if Strata.RowSupport.isSame(_$row.edge, newValue, by: HexColor.self) {
                            return
                        }
                        _$willChange(1)
                        _$row.edge = newValue
                    }
                }
                var title: String { edge == nil ? "plain" : "edged" }

                nonisolated struct Row: Strata.ModelRow {
                    var id: Strata.ObjectID<Paint>
                    var color: Color
                    var edge: Color?
                    var title: String {
                        edge == nil ? "plain" : "edged"
                    }
                    init(_ id: Strata.ObjectID<Paint>, _ color: Color, _ edge: Color?) {
                        self.id = id
                        self.color = color
                        self.edge = edge
                    }
                    init(_$from reader: Strata.RowReader) throws {
                        self.id = reader.read(Strata.ObjectID<Paint>.self, at: 0)
                        do {
                            self.color = try Strata.RowSupport.value(of: reader.read(Strata.Transformed<HexColor>.self, at: 1), as: Color.self)
                            self.edge = try Strata.RowSupport.value(of: reader.read((Strata.Transformed<HexColor>?).self, at: 2), as: (Color?).self)
                        } catch {
                            throw reader._$locate(error, in: Paint.self)
                        }
                    }
                    static func _$bind(_ row: Swift.UnsafePointer<Self>, to binder: inout Strata.RowBinder) throws {
                        try unsafe binder.bind(row.pointee.id, at: 1)
                        try unsafe binder.bind(Strata.RowSupport.transformed(row.pointee.color, by: HexColor.self), at: 2)
                        try unsafe binder.bind(Strata.RowSupport.transformed(row.pointee.edge, by: HexColor.self), at: 3)
                        try unsafe binder.bind(row.pointee.title, at: 4)
                    }
                    static func _$bind(_ columns: Strata.ColumnSet, of row: Swift.UnsafePointer<Self>, to binder: inout Strata.RowBinder) throws {
                        var index: Int32 = 0
                        if columns.contains(0) {
                            index += 1
                            try unsafe binder.bind(Strata.RowSupport.transformed(row.pointee.color, by: HexColor.self), at: index)
                        }
                        if columns.contains(1) {
                            index += 1
                            try unsafe binder.bind(Strata.RowSupport.transformed(row.pointee.edge, by: HexColor.self), at: index)
                        }
                        if columns.contains(2) {
                            index += 1
                            try unsafe binder.bind(row.pointee.title, at: index)
                        }
                    }
                    static func _$value(_ row: Swift.UnsafePointer<Self>, at column: Int) throws -> Strata.StoredValue {
                        switch column {
                        case 0:
                            return try unsafe Strata.RowSupport.stored(Strata.RowSupport.transformed(row.pointee.color, by: HexColor.self))
                        case 1:
                            return try unsafe Strata.RowSupport.stored(Strata.RowSupport.transformed(row.pointee.edge, by: HexColor.self))
                        case 2:
                            return try unsafe Strata.RowSupport.stored(row.pointee.title)
                        default:
                            throw Strata.RowSupport.noColumn(column, of: Paint.self)
                        }
                    }
                    mutating func _$set(_ value: Strata.StoredValue, at column: Int) throws {
                        switch column {
                        case 0:
                            self.color = try Strata.RowSupport.value(of: Strata.RowSupport.value(value, as: Strata.Transformed<HexColor>.self, at: 0, of: self.id), as: Color.self)
                        case 1:
                            self.edge = try Strata.RowSupport.value(of: Strata.RowSupport.value(value, as: (Strata.Transformed<HexColor>?).self, at: 1, of: self.id), as: (Color?).self)
                        case 2:
                            return
                        default:
                            throw Strata.RowSupport.noColumn(column, of: Paint.self)
                        }
                    }
                    mutating func _$copy(_ columns: Strata.ColumnSet, from other: Self) {
                        if columns.contains(0) {
                            self.color = other.color
                        }
                        if columns.contains(1) {
                            self.edge = other.edge
                        }
                    }
                    func _$differences(from other: Self) -> Strata.ColumnSet {
                        var columns = Strata.ColumnSet()
                        if !Strata.RowSupport.isSame(self.color, other.color, by: HexColor.self) {
                            columns.insert(0)
                        }
                        if !Strata.RowSupport.isSame(self.edge, other.edge, by: HexColor.self) {
                            columns.insert(1)
                        }
                        if !String._$isSame(self.title, other.title) {
                            columns.insert(2)
                        }
                        return columns
                    }
                    init(_$decoding decoder: Strata.RowDecoder) throws {
                        self.id = try decoder.decode(Strata.ObjectID<Paint>.self)
                        self.color = try Strata.RowSupport.value(of: decoder.decode(Strata.Transformed<HexColor>.self, at: 0), as: Color.self)
                        self.edge = try Strata.RowSupport.value(of: decoder.decode((Strata.Transformed<HexColor>?).self, at: 1), as: (Color?).self)
                    }
                    func _$encode(to encoder: inout Strata.RowEncoder) throws {
                        try encoder.encode(Strata.RowSupport.transformed(self.color, by: HexColor.self), at: 0)
                        try encoder.encode(Strata.RowSupport.transformed(self.edge, by: HexColor.self), at: 1)
                        try encoder.encode(self.title, at: 2)
                    }
                }

                nonisolated struct Columns: Swift.Sendable {
                    let id = Paint._$expression(id: ())
                    let color = Paint._$expression("color", Strata.Transformed<HexColor>.self)
                    let edge = Paint._$expression("edge", (Strata.Transformed<HexColor>?).self)
                    let title = Paint._$expression("title", String.self)
                    init() {
                    }
                }

                static let columns = Columns()

                static let _$schema = Strata.ModelSchema(
                    name: "Paint",
                    columns: [
                        ._$column("color", Strata.Transformed<HexColor>.self, [.indexed, .transformed(by: HexColor.self)]),
                        ._$column("edge", (Strata.Transformed<HexColor>?).self, [.transformed(by: HexColor.self)]),
                        ._$column("title", String.self, [.unique, ._$derived]),
                    ],
                    hooks: Strata.ModelHooks(
                        willInsert: ._$hook(Paint.willInsert),
                        willUpdate: ._$hook(Paint.willUpdate),
                        willDelete: ._$calm(Paint.willDelete),
                        didFetch: ._$calm(Paint.didFetch),
                        validate: ._$validation(Paint.validate(in:_:)),
                        validateDelete: ._$validation(Paint.validateDelete(in:_:)),
                        validateRow: ._$rowValidation(Paint.validate(_:_:))
                    )
                )

                @safe @exclusivity(unchecked) var _$row: Row

                @safe @exclusivity(unchecked) var _$link = Strata.ObjectLink()

                @safe @exclusivity(unchecked) var _$state = Strata.ObjectState()

                var id: Strata.ObjectID<Paint> {
                    _$row.id
                }

                var snapshot: Row {
                    _$willReadAll()
                    return _$row
                }

                init(_$row: Row) {
                    self._$row = _$row
                }

                init(color: Color, edge: Color? = nil) {
                    self._$row = Row(.unassigned, color, edge)
                }
            }

            nonisolated extension Paint: Strata.Model {
            }
            """#
        )
    }
}
