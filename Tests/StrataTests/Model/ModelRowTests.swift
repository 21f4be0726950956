import CStrataSQLite
import Foundation
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Rows that @Model generates")
struct ModelRowTests {
    typealias Article = MacroModels.Article
    typealias Everything = MacroModels.Everything

    static func everything(optionals: Bool) throws -> Everything {
        let object = Everything(
            int: -1,
            int8: .min,
            int16: .max,
            int32: .min,
            int64: .max,
            uint: .max,
            uint8: .max,
            uint16: .max,
            uint32: .max,
            uint64: .max,
            double: -0.0,
            float: .infinity,
            bool: true,
            string: "é",
            data: Data([0, 1]),
            date: Date(timeIntervalSinceReferenceDate: 0.1),
            uuid: UUID(),
            url: try #require(URL(string: "https://example.org/a?b")),
            decimal: Decimal(string: "0.1")!,
            level: .high,
            address: .init(street: "\"s\""),
            tags: ["a", ""],
            scores: ["x": 1]
        )
        guard optionals else { return object }
        object.optionalInt = 0
        object.optionalUInt8 = 1
        object.optionalDouble = .pi
        object.optionalBool = false
        object.optionalString = ""
        object.optionalData = Data()
        object.optionalDate = .distantPast
        object.optionalUUID = UUID()
        object.optionalURL = URL(string: "file:///tmp")
        object.optionalDecimal = -7
        object.optionalLevel = .low
        object.optionalAddress = .init(street: "t")
        object.optionalTags = []
        object._$row.parent = ObjectID(rawValue: 5, fingerprint: 0xABCD)
        object._$row.id = ObjectID(rawValue: 9, fingerprint: 0xABCD)
        return object
    }

    @Test("A row of every attribute type is the same after being bound and read", arguments: [false, true])
    func roundTrip(optionals: Bool) throws {
        var row = try Self.everything(optionals: optionals).snapshot
        row.id = ObjectID(rawValue: 9, fingerprint: 0xABCD)
        let read = try Self.readBack(row)
        #expect(read._$differences(from: row).isEmpty)
        #expect(read.id == row.id && read.parent == row.parent)
    }

    @Test("Each value of a row can be read in its stored form and set in another row", arguments: [false, true])
    func valuesByIndex(optionals: Bool) throws {
        let row = try Self.everything(optionals: optionals).snapshot
        var other = try Self.everything(optionals: !optionals).snapshot
        other.id = ObjectID(rawValue: 1, fingerprint: 0xABCD)
        for column in Everything._$schema.columns.indices {
            try other._$set(try row._$value(at: column), at: column)
        }
        #expect(other._$differences(from: row).isEmpty)
    }

    @Test("A reference that is set by its id number takes the store from the id of the row")
    func fingerprint() throws {
        var row = Article(slug: "a").snapshot
        row.id = ObjectID(rawValue: 1, fingerprint: 0xBEEF)
        try row._$set(.integer(7), at: 4)
        #expect(row.author == ObjectID(rawValue: 7, fingerprint: 0xBEEF))
        #expect(try row._$value(at: 4) == .integer(7))
        try row._$set(.null, at: 4)
        #expect(row.author == nil)
    }

    @Test(
        "A wrong value is undecodable and names its column, a wrong column is an invalid state",
        arguments: [
            (1, .integer(1)), (2, .text("x")), (1, .null), (4, .integer(0)), (4, .integer(1 << 48)), (5, .text("x")),
        ]
            as [(Int, StoredValue)]
    )
    func wrongValue(column: Int, value: StoredValue) throws {
        var row = Article(slug: "a").snapshot
        let error = #expect(throws: StrataError.self) { try row._$set(value, at: column) }
        #expect(error?.code.description == "undecodable")
        #expect(error?.details.first?.column == Article._$schema.columns[column].name)
        #expect(row._$differences(from: Article(slug: "a").snapshot).isEmpty)
        let invalidState = #expect(throws: StrataError.self) { try row._$value(at: 7) }
        #expect(invalidState?.code.description == "invalidState")
    }

    @Test(
        "A wrong value in the store names model, object and column",
        .aboutTheFile("changes rows of the file from outside")
    )
    func wrongValueInStore() async throws {
        let folder = try StoreFolder()
        let stack = try await openMacroModels(at: folder.location)
        let number = try await stack.background { context in
            let article = context.insert(Article(slug: "a"))
            try context.commit()
            _ = try plainRows(folder.file, "UPDATE articles SET status = 'x'")
            return article.id.rawValue
        }
        try await stack.background { context in
            let error = #expect(throws: StrataError.self) { try context.rows(Article.all) }
            #expect(
                error?.code == .undecodable
                    && error?.message.contains("'x' for Article.status is not of type Status") == true
            )
            #expect(error?.details.map(\.description) == ["Article \(number).status cannot be 'x'"])
            let value = #expect(throws: StrataError.self) { try context.column(Article.all, \.status) }
            #expect(value?.code == .undecodable && value?.message.contains("column 'status'") == true)
        }
        try await stack.close()
    }

    @Test("Rows differ in the columns whose bytes differ")
    func differences() throws {
        let row = try Self.everything(optionals: true).snapshot
        #expect(row._$differences(from: row).isEmpty)
        var other = row
        other.double = 0.0  // equal to -0.0, which SQLite keeps as 0.0
        other.string = "e\u{301}"  // equal to é, but with other bytes
        other.optionalLevel = nil
        other.parent = nil
        let names = row._$differences(from: other).map { Everything._$schema.columns[$0].name }
        #expect(names == ["string", "optionalLevel", "parent"])
    }

    @Test("Copying takes over the named columns only, and not the id")
    func copying() throws {
        let row = try Self.everything(optionals: true).snapshot
        let target = try Self.everything(optionals: false).snapshot
        for column in Everything._$schema.columns.indices {
            var copy = target
            copy._$copy(ColumnSet(column), from: row)
            #expect(try copy._$value(at: column) == row._$value(at: column))
            #expect(target._$differences(from: copy).subtracting(ColumnSet(column)).isEmpty)
            #expect(copy.id == target.id)
        }
    }

    /// Binds a row to the parameters of a SELECT and reads the result.
    private static func readBack<Row: ModelRow>(_ row: Row) throws -> Row {
        var database: OpaquePointer?
        try #require(sqlite3_open(":memory:", &database) == SQLITE_OK)
        defer { sqlite3_close(database) }
        let parameters = repeatElement("?", count: Row.Object._$schema.columns.count + 1).joined(separator: ", ")
        var statement: OpaquePointer?
        try #require(sqlite3_prepare_v2(database, "SELECT \(parameters)", -1, &statement, nil) == SQLITE_OK)
        defer { sqlite3_finalize(statement) }
        let prepared = try #require(statement)
        var binder = RowBinder(statement: prepared, buffer: BindBuffer())
        try withUnsafePointer(to: row) { try type(of: row)._$bind($0, to: &binder) }
        try #require(sqlite3_step(prepared) == SQLITE_ROW)
        return try Row(_$from: RowReader(statement: prepared, fingerprint: 0xABCD))
    }
}
