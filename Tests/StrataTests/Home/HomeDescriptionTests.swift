import Foundation
import Testing

@testable import Strata

@Suite("The description of a store for its home") struct HomeDescriptionTests {
    enum Level: UInt64, AttributeValue {
        case low = 1
    }

    enum Rank: Int, AttributeValue {
        case first = 1
    }

    /// A type that stores its values by itself, in any integers.
    struct Amount: AttributeValue {
        var value: UInt64
        static var columnType: ColumnType { .integer }
        var storedValue: StoredValue { value.storedValue }

        init(value: UInt64) { self.value = value }

        init?(storedValue: StoredValue) {
            guard let value = UInt64(storedValue: storedValue) else { return nil }
            self.value = value
        }
    }

    @Model final class Gauge {
        var count: Int = 0
        var total: UInt64 = 0
        var peak: UInt?
        var small: UInt32 = 0
        var isOn: Bool = false
        var level: Level = Level.low
        var rank: Rank = Rank.first
        var amount: Amount = Amount(value: 0)
        var text: String = ""
        @Attribute(.externalStorage) var photo: Data?
        var next: Gauge?
    }

    private static func unsigned(_ description: HomeDescription) throws -> [String] {
        try #require(description.tables.first { $0.name == "Gauge" }).columns.filter(\.isUnsigned).map(\.name).sorted()
    }

    @Test("Columns that may exceed Int64.max are known from the models, and as far as possible from a record")
    func unsignedColumns() throws {
        let schema = try Schema([Gauge.self])
        let description = HomeDescription(schema, Migration())
        #expect(try Self.unsigned(description) == ["amount", "level", "peak", "total"])
        let record = SchemaRecord(
            format: description.format,
            version: 0,
            description: schema.text,
            steps: [],
            layout: []
        )
        // A record does not tell the raw values of a type of the program.
        let recorded = HomeDescription(record, try SchemaDescription(parsing: schema.text))
        #expect(try Self.unsigned(recorded) == ["amount", "level", "peak", "rank", "total"])
        // A home keeps the columns as it has them, or gives them a form that can have more values.
        #expect(description.typing(recorded, widens: false) == description)
        #expect(description.typing(recorded, widens: true) == recorded)
        #expect(recorded.typing(description, widens: true) == recorded)
    }

    @Test("A description survives JSON, and one without the mark of unsigned columns is read")
    func coding() throws {
        let columns = [
            HomeTable.Column(
                name: "a",
                type: .integer,
                isOptional: false,
                isUnsigned: true,
                defaultValue: UInt64.max.storedValue
            ), HomeTable.Column(name: "b", type: .integer, isOptional: true),
        ]
        let table = HomeTable(name: "T", columns: columns)
        let bytes = try JSONEncoder().encode(table)
        #expect(try JSONDecoder().decode(HomeTable.self, from: bytes) == table)
        let earlier = #"{"name":"T","columns":[{"name":"b","type":"INTEGER","isOptional":true}]}"#
        let read = try JSONDecoder().decode(HomeTable.self, from: Data(earlier.utf8))
        #expect(read.columns == [columns[1]])
    }
}
