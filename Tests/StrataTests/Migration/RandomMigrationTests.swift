import Foundation
import Synchronization
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Random migrations", .aboutTheFile("migrates stores"), .serialized) struct RandomMigrationTests {
    @Test("Random changes of models keep the remaining data, row by row (seed: STRATA_SEED)")
    func changes() throws {
        let seed = SeededGenerator.seed
        for round in 0..<8 {
            var random = SeededGenerator(seed: seed &+ UInt64(round))
            let folder = try ScratchFolder()
            var storeModel = DynamicStoreModel()
            for version in 0..<10 {
                let migration = version == 0 ? Migration() : storeModel.change(&random)
                do {
                    try storeModel.open(folder, migration.backup(.none))
                    try storeModel.insert(Int.random(in: 0..<4, using: &random), &random, into: folder)
                    try storeModel.check(folder, "seed \(seed), round \(round), version \(version)")
                } catch {
                    Issue.record("seed \(seed), round \(round), version \(version): \(error)\n\(storeModel.tables)")
                    return
                }
            }
        }
    }
}

/// A column of a random model.
struct DynamicField {
    var name: String
    var type: ColumnType
    var isOptional: Bool
    var value: StoredValue
    var isIndexed = false
    var originalName: String?
    /// Whether this version has already changed the column. Two changes at once may cancel each other out.
    var isChanged = false

    var schema: ColumnSchema {
        var options: [AttributeOption] = isIndexed ? [.indexed] : []
        if let originalName { options.append(.originalName(originalName)) }
        func column<Value: AttributeValue>(_ type: Value.Type) -> ColumnSchema {
            let value = Value(storedValue: value)!
            return isOptional
                ? ._$column(name, Value?.self, options, default: { value })
                : ._$column(name, type, options, default: { value })
        }
        switch type {
        case .integer: return column(Int.self)
        case .real: return column(Double.self)
        case .text: return column(String.self)
        case .blob: return column(Data.self)
        }
    }

    static func random(_ type: ColumnType, _ random: inout SeededGenerator) -> StoredValue {
        let number = Int.random(in: -1000...1000, using: &random)
        switch type {
        case .integer: return .integer(Int64(number))
        case .real: return .real(Double(number) / 8)
        case .text: return .text(number % 7 == 0 ? "it's\u{0}\(number)" : "t\(number)")
        case .blob: return .blob(Data([UInt8(number & 255), 0, 1]))
        }
    }
}

struct DynamicTable {
    var model: String
    var table: String
    var originalName: String?
    var fields: [DynamicField]
    /// The values of each row by field name.
    var rows: [Int64: [String: StoredValue]] = [:]

    var schema: ModelSchema {
        ModelSchema(name: model, table: table, originalName: originalName, columns: fields.map(\.schema))
    }
}

/// Models that change at random, and the expected content of their tables.
struct DynamicStoreModel {
    var tables: [DynamicTable]
    private var counter = 0
    private var next: Int64 = 100_000

    init() {
        tables = (0..<3).map { DynamicTable(model: "Model\($0)", table: "Model\($0)", fields: []) }
    }

    private mutating func name(_ prefix: String) -> String {
        counter += 1
        return "\(prefix)\(counter)"
    }

    /// Changes models, and returns the migration for the changes.
    mutating func change(_ random: inout SeededGenerator) -> Migration {
        var migration = Migration()
        for index in tables.indices {
            tables[index].originalName = nil
            for field in tables[index].fields.indices {
                tables[index].fields[field].originalName = nil
                tables[index].fields[field].isChanged = false
            }
            if Int.random(in: 0..<4, using: &random) == 0 {
                tables[index].originalName = tables[index].model
                tables[index].model = name("M")
                if Bool.random(using: &random) { tables[index].table = tables[index].model }
            }
            let model = tables[index].model
            for _ in 0..<Int.random(in: 0..<3, using: &random) {
                let dropped = change(index, &random)
                if let dropped { migration = migration.dropping("\(model).\(dropped)") }
            }
            if Int.random(in: 0..<3, using: &random) == 0 { tables[index].fields.shuffle(using: &random) }
        }
        if Int.random(in: 0..<3, using: &random) == 0 {
            (tables[0].table, tables[1].table) = (tables[1].table, tables[0].table)
            // The name of the class identifies the model. If the name changed too, the two models could not be told
            // apart.
            for index in 0..<2 {
                if let original = tables[index].originalName { tables[index].model = original }
                tables[index].originalName = nil
            }
            var named = Migration()
            for drop in migration.drops {
                named = named.dropping(drop)
                for table in tables { named = named.dropping(table.model + drop.drop { $0 != "." }) }
            }
            migration = named
        }
        return migration
    }

    /// Changes one field. Returns the name of a dropped field.
    private mutating func change(_ index: Int, _ random: inout SeededGenerator) -> String? {
        let fields = tables[index].fields
        let kind = fields.isEmpty ? 0 : Int.random(in: 0..<7, using: &random)
        if kind == 0 {
            let type: ColumnType = [.integer, .real, .text, .blob].randomElement(using: &random)!
            let field = DynamicField(
                name: name("f"),
                type: type,
                isOptional: Bool.random(using: &random),
                value: DynamicField.random(type, &random),
                isChanged: true
            )
            tables[index].fields.append(field)
            for row in tables[index].rows.keys { tables[index].rows[row]![field.name] = field.value }
            return nil
        }
        let place = Int.random(in: fields.indices, using: &random)
        var field = fields[place]
        guard !field.isChanged else { return nil }
        field.isChanged = true
        let old = field.name
        switch kind {
        case 1:
            tables[index].fields.remove(at: place)
            for row in tables[index].rows.keys { tables[index].rows[row]![old] = nil }
            return old
        case 2:
            field.originalName = old
            field.name = name("r")
            for row in tables[index].rows.keys {
                tables[index].rows[row]![field.name] = tables[index].rows[row]!.removeValue(forKey: old)
            }
        case 3:
            field.isOptional.toggle()
            if !field.isOptional {
                for row in tables[index].rows.keys where tables[index].rows[row]![old] == .null {
                    tables[index].rows[row]![old] = field.value
                }
            }
        case 4: field.isIndexed.toggle()
        default:
            guard let (type, convert) = Self.conversion(field.type, &random) else { return nil }
            field.type = type
            field.value = convert(field.value)
            for row in tables[index].rows.keys {
                tables[index].rows[row]![old] = convert(tables[index].rows[row]![old]!)
            }
        }
        tables[index].fields[place] = field
        return nil
    }

    private static func conversion(
        _ type: ColumnType,
        _ random: inout SeededGenerator
    ) -> (ColumnType, (StoredValue) -> StoredValue)? {
        switch type {
        case .integer where Bool.random(using: &random):
            (.real, { if case .integer(let number) = $0 { .real(Double(number)) } else { $0 } })
        case .integer: (.text, { if case .integer(let number) = $0 { .text("\(number)") } else { $0 } })
        case .text: (.blob, { if case .text(let text) = $0 { .blob(Data(text.utf8)) } else { $0 } })
        case .real, .blob: nil
        }
    }

    func open(_ folder: ScratchFolder, _ migration: Migration) throws {
        DynamicSchemas.current.withLock { $0 = tables.map(\.schema) }
        let models: [any Model.Type] = [Dynamic0.self, Dynamic1.self, Dynamic2.self]
        for _ in 0..<2 {
            let store = try Store(
                .sqlite(folder.file("store.sqlite")),
                schema: try Schema(models),
                configuration: StoreConfiguration(synchronous: .normal),
                migration: migration
            )
            try store.close()
        }
    }

    mutating func insert(_ count: Int, _ random: inout SeededGenerator, into folder: ScratchFolder) throws {
        var statements = ["BEGIN"]
        for index in tables.indices {
            for _ in 0..<count {
                next += 1
                var row: [String: StoredValue] = [:]
                for field in tables[index].fields {
                    let isNull = field.isOptional && Bool.random(using: &random)
                    row[field.name] = isNull ? .null : DynamicField.random(field.type, &random)
                }
                tables[index].rows[next] = row
                let names = ["\"id\""] + row.keys.map(\.quotedIdentifier)
                let values = ["\(next)"] + row.values.map(SQLText.literal)
                let table = tables[index].table.quotedIdentifier
                statements.append(
                    "INSERT INTO \(table) (\(names.joined(separator: ", "))) VALUES (\(values.joined(separator: ", ")))"
                )
            }
        }
        try folder.sql(folder.file("store.sqlite"), (statements + ["COMMIT"]).joined(separator: "; "))
    }

    func check(_ folder: ScratchFolder, _ place: String) throws {
        for table in tables {
            let names = table.fields.map(\.name)
            let columns = (["id"] + names).map { "quote(\($0.quotedIdentifier))" }.joined(separator: ", ")
            let found = try folder.rows(
                folder.file("store.sqlite"),
                "SELECT \(columns) FROM \(table.table.quotedIdentifier) ORDER BY id"
            )
            let values = table.rows.map { id, row in
                let values = (["\(id)"] + names.map { SQLText.literal(row[$0]!) }).map { "quote(\($0))" }
                return "SELECT \(values.joined(separator: ", "))"
            }
            let expected =
                values.isEmpty
                ? []
                : try folder.rows(
                    folder.file("store.sqlite"),
                    "SELECT * FROM (\(values.joined(separator: " UNION ALL "))) ORDER BY 1"
                )
            #expect(found == expected, "\(place), \(table.model)")
        }
    }
}

/// The current schemas of the dynamic models.
enum DynamicSchemas {
    static let current = Mutex<[ModelSchema]>([])
}

/// A model whose columns are known only at run time. The tests use only its schema.
final class DynamicModel<Place: DynamicPlace>: Model {
    struct Row: ModelRow {
        typealias Object = DynamicModel<Place>
        var id: ObjectID<DynamicModel<Place>>
        init(_$from reader: RowReader) throws { id = reader.read(ObjectID<DynamicModel<Place>>.self, at: 0) }
        static func _$bind(_ row: UnsafePointer<Self>, to binder: inout RowBinder) throws {}
        static func _$bind(_ columns: ColumnSet, of row: UnsafePointer<Self>, to binder: inout RowBinder) throws {}
        static func _$value(_ row: UnsafePointer<Self>, at column: Int) throws -> StoredValue { .null }
        mutating func _$set(_ value: StoredValue, at column: Int) throws {}
        mutating func _$copy(_ columns: ColumnSet, from other: Self) {}
        func _$differences(from other: Self) -> ColumnSet { ColumnSet() }
        init(_$decoding decoder: RowDecoder) throws { id = try decoder.decode(ObjectID<DynamicModel<Place>>.self) }
        func _$encode(to encoder: inout RowEncoder) throws {}
    }
    struct Columns: Sendable {}
    static var columns: Columns { Columns() }
    static var _$schema: ModelSchema { DynamicSchemas.current.withLock { $0[Place.index] } }
    var _$row: Row
    var _$link = ObjectLink()
    var _$state = ObjectState()
    init(_$row: Row) { self._$row = _$row }
}

protocol DynamicPlace { static var index: Int { get } }
enum Place0: DynamicPlace { static let index = 0 }
enum Place1: DynamicPlace { static let index = 1 }
enum Place2: DynamicPlace { static let index = 2 }
typealias Dynamic0 = DynamicModel<Place0>
typealias Dynamic1 = DynamicModel<Place1>
typealias Dynamic2 = DynamicModel<Place2>
