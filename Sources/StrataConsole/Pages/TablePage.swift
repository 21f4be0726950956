import Strata
import StrataInspection

/// The rows of a table, in the order of their ids.
struct TablePage: ConsolePage {
    let path = "table"
    let title = "Objects"
    let group: NavigationGroup? = nil
    let needs = StoreNeeds.store
    let template = PageTemplate.rows

    static let pageSize = 50
    /// The greatest number of columns that are shown. The page of an object shows all of them.
    static let greatestColumnCount = 12
    /// The number of bytes of a text or blob that are read.
    static let readLength = 4 * ViewText.cellLength

    struct Values: Sendable {
        let table: Table
        /// Nil if all columns are shown.
        let note: String?
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        let after = try request.query.number("after") ?? 0
        let record = try await request.store.record()
        let stored = try Self.table(of: request, in: record)
        let found = try await request.read { context in
            try stored.rows(
                after: after,
                columns: Self.greatestColumnCount,
                length: Self.readLength,
                limit: Self.pageSize + 1,
                in: context
            )
        }
        let columns = stored.columns.prefix(Self.greatestColumnCount)
        let names = columns.map { ViewText.line($0.name) }
        var table = Table("Rows of \(ViewText.line(stored.name))", ["id"] + names)
        let shown = found.prefix(Self.pageSize)
        for row in shown {
            let id = Cell.number(row.id, href: request.address(ofObject: row.id, in: stored.name))
            let fields = zip(row.fields, columns).map { field, column in
                Cell.field(field, of: column, href: Self.reference(field, column, request))
            }
            table.add([id] + fields)
        }
        table.whenEmpty = after > 0 ? "No further row exists." : "The table has no rows."
        let last = found.count > Self.pageSize ? shown.last?.id : nil
        table.pager = Pager(
            first: after > 0 ? request.address(ofTable: stored.name) : nil,
            next: last.flatMap { request.address(ofTable: stored.name, after: $0) }
        )
        let rest = stored.columns.count - columns.count
        let note = rest > 0 ? "\(rest) more columns are on the page of each row." : nil
        let title = "Objects of \(stored.description.subject)"
        return PageContent(title: title, Values(table: table, note: note))
    }

    /// The table that the query names.
    ///
    /// - Throws: ``ConsoleError`` with the status 404 if the store does not record such a table.
    static func table(of request: ConsoleRequest, in record: StoreRecord) throws -> StoredTable {
        let name = try request.query.required("table")
        guard let table = StoredTable(named: name, in: record) else {
            throw ConsoleError.notFound("The store has no table '\(ViewText.line(name))'.")
        }
        return table
    }

    /// The address of the object to which a value refers; nil if it does not refer to one.
    static func reference(_ field: StoredField, _ column: ColumnDescription, _ request: ConsoleRequest) -> String? {
        guard let target = column.referencedTable, case .integer(let id) = field.value, id > 0 else { return nil }
        return request.address(ofObject: id, in: target)
    }
}
