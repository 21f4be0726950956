import Foundation
import GRDB
import HomeSuite
import Strata
import StrataPostgres

/// The rows of all tables that a home keeps, in the home or in a working copy.
struct FleetContents {
    /// A text for each row, sorted, by the name of the table.
    private let tables: [String: [String]]

    /// Reads the rows of a home, and the tables that all copies must have.
    static func read(_ home: PostgresHome) throws -> (contents: FleetContents, tables: [HomeTable]) {
        // The store exists, so the proposal does not count.
        let state = try home.open(SampleStore.description, busyTimeout: 30)
        var rows: [String: [String]] = [:]
        for table in state.description.tables { rows[table.name] = [] }
        _ = try home.copy { table, portion in rows[table, default: []] += portion.map(Self.line) }
        return (FleetContents(tables: rows.mapValues { $0.sorted() }), state.description.tables)
    }

    private init(tables: [String: [String]]) { self.tables = tables }

    /// Reads the rows of a working copy, which no process has open.
    init(copy: URL, _ description: [HomeTable]) throws {
        let queue = try DatabaseQueue(path: copy.path)
        defer { try? queue.close() }
        tables = try queue.read { db in
            var tables: [String: [String]] = [:]
            for table in description {
                let columns = table.columns.map(\.name.quotedIdentifier).joined(separator: ", ")
                let rows = try Row.fetchAll(db, sql: "SELECT \(columns) FROM \(table.name.quotedIdentifier)")
                tables[table.name] = rows.map { row in
                    let values: [StoredValue] = row.databaseValues.map(Self.stored)
                    return Self.line(values)
                }
                .sorted()
            }
            return tables
        }
    }

    private static func stored(_ value: DatabaseValue) -> StoredValue {
        switch value.storage {
        case .null: .null
        case .int64(let number): .integer(number)
        case .double(let number): .real(number)
        case .string(let text): .text(text)
        case .blob(let data): .blob(data)
        }
    }

    /// The values of a row, with all bytes.
    private static func line(_ values: [StoredValue]) -> String {
        values.map { value in
            switch value {
            case .null: "NULL"
            case .integer(let number): "\(number)"
            case .real(let number): "\(number)"
            case .text(let text): text.debugDescription
            case .blob(let data): "x'\(data.base64EncodedString())'"
            }
        }
        .joined(separator: " ")
    }

    /// The tables whose rows differ, each with its checksums and the first row that only one side has.
    func differences(from other: FleetContents) -> [String] {
        Set(tables.keys).union(other.tables.keys).sorted().compactMap { name in
            let (own, others) = (tables[name] ?? [], other.tables[name] ?? [])
            guard own != others else { return nil }
            let row = Set(own).symmetricDifference(others).min() ?? "a row twice"
            return """
                '\(name)' differs: \(own.count) rows (\(Self.checksum(own))) and \(others.count) \
                (\(Self.checksum(others))), for example \(row.prefix(300))
                """
        }
    }

    /// FNV-1a over the texts of the rows.
    private static func checksum(_ rows: [String]) -> String {
        let hash = rows.joined(separator: "\n").utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
        }
        return String(hash, radix: 16)
    }
}
