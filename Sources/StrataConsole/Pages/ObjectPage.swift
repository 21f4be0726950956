import Strata
import StrataInspection

/// All columns of a row, with references as links.
struct ObjectPage: ConsolePage {
    let path = "object"
    let title = "Object"
    let group: NavigationGroup? = nil
    let needs = StoreNeeds.store
    let template = PageTemplate.object

    /// The number of bytes of a text or blob that are read.
    static let readLength = 4 * ViewText.factLength
    /// The greatest number of references that are looked up.
    private static let greatestReferenceCount = 200

    struct Values: Sendable {
        /// The name of the table.
        let table: String
        /// The address of the table's rows.
        let rows: String
        let fields: Table
    }

    private struct Found: Sendable {
        let row: StoredTable.Row
        /// The indexes of the columns whose object does not exist.
        let missing: [Int]
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        let id = try request.query.requiredNumber("id")
        let record = try await request.store.record()
        let stored = try TablePage.table(of: request, in: record)
        let found = try await request.read { context -> Found? in
            guard let row = try stored.row(id, length: Self.readLength, in: context) else { return nil }
            return Found(row: row, missing: try Self.missing(row, stored, record, context))
        }
        guard let found else {
            throw ConsoleError.notFound(
                "The table '\(ViewText.line(stored.name))' has no row \(id). It may have been deleted."
            )
        }
        var table = Table("Values", ["Column", "Type", "Stored as", "Value"])
        for (index, (field, column)) in zip(found.row.fields, stored.columns).enumerated() {
            let isMissing = found.missing.contains(index)
            let href = isMissing ? nil : TablePage.reference(field, column, request)
            var value = Cell.field(field, of: column, href: href, to: ViewText.factLength)
            if isMissing { value.note = "missing in \(ViewText.line(column.referencedTable ?? ""))" }
            value.isNumber = false
            let type = [column.valueType ?? column.type.rawValue, column.isOptional ? "optional" : nil]
            table.add([
                .text(column.name), .text(type.compactMap { $0 }.joined(separator: ", ")), .text(field.storageClass),
                value,
            ])
        }
        table.whenEmpty = "The row has no values."
        return PageContent(
            title: "\(stored.description.subject) \(id)",
            Values(
                table: ViewText.line(stored.name),
                rows: request.address(ofTable: stored.name) ?? request.base,
                fields: table
            )
        )
    }

    /// The indexes of the columns that refer to a row which does not exist.
    private static func missing(
        _ row: StoredTable.Row,
        _ stored: StoredTable,
        _ record: StoreRecord,
        _ context: ObjectContext
    ) throws -> [Int] {
        var (missing, lookups): ([Int], Int) = ([], 0)
        for (index, (field, column)) in zip(row.fields, stored.columns).enumerated() {
            guard let target = column.referencedTable, case .integer(let id) = field.value,
                lookups < greatestReferenceCount
            else { continue }
            lookups += 1
            guard let table = StoredTable(named: target, in: record) else {
                missing.append(index)
                continue
            }
            if try !table.contains(id, in: context) { missing.append(index) }
        }
        return missing
    }
}
