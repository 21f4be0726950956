import Strata
import StrataInspection

/// The store as a whole: its sizes, models, history and schema, and the processes that have it open.
struct StorePage: ConsolePage {
    let path = "store"
    let title = "Store"
    let group: NavigationGroup? = .store
    let needs = StoreNeeds.store
    let template = PageTemplate.store

    /// The number up to which the rows of a table are counted.
    static let countedRows = 10_000
    /// The greatest number of tables that are shown. Their rows are counted, each in its own time.
    static let greatestTableCount = 500
    /// The greatest number of characters of the schema.
    private static let schemaLength = 100_000

    struct Values: Sendable {
        let facts: Facts
        let tables: Table
        /// Nil if all tables are shown.
        let note: String?
        let schema: String
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        let (record, sizes) = (try await request.store.record(), try await request.store.sizes())
        let all = StoredTable.all(in: record)
        let shown = Array(all.prefix(Self.greatestTableCount))
        let counts = try await request.read { context in
            try shown.map { try $0.count(upTo: Self.countedRows + 1, in: context) }
        }
        let processes = await request.store.processes.current()
        var table = Table("Models and relationships", ["Model", "Table"], numbers: ["Rows", "Columns"])
        for (stored, count) in zip(shown, counts) { table.add(row(stored, count, request)) }
        table.whenEmpty = "The store has no models."
        let rest = all.count - shown.count
        return PageContent(
            Values(
                facts: facts(record, sizes, processes),
                tables: table,
                note: rest > 0 ? "\(rest) more tables are not shown." : nil,
                schema: TerminalText.shortened(record.schema.description, to: Self.schemaLength)
            )
        )
    }

    private func row(_ stored: StoredTable, _ count: Int, _ request: ConsoleRequest) -> [Cell] {
        let isCounted = count <= Self.countedRows
        var rows = Cell.number(min(count, Self.countedRows))
        if !isCounted {
            rows = .text("more than \(Self.countedRows)")
            rows.isNumber = true
        }
        return [
            .text(stored.description.subject), .text(stored.name, href: request.address(ofTable: stored.name)),
            rows, .number(stored.columns.count),
        ]
    }

    private func facts(_ record: StoreRecord, _ sizes: StoreSizes, _ processes: StoreProcesses?) -> Facts {
        var facts = Facts()
        facts.add("File", .text(sizes.path))
        facts.add("Size", .size(sizes.fileSize))
        facts.add("Pages", .text("\(sizes.pageCount) of \(sizes.pageSize) bytes, \(sizes.freePageCount) free"))
        facts.add("Journal", .size(sizes.journalSize))
        if let history = sizes.history {
            let text = "commits \(history.lowerBound) to \(history.upperBound), \(ByteSize.text(sizes.historySize))"
            facts.add("History", .text(text))
        } else {
            facts.add("History", .text("no commit yet"))
        }
        if let newest = record.newest {
            facts.add("Newest commit", .number(newest.sequence))
            facts.add("Committed", .time(newest.time))
            facts.add("Author", .text(newest.author ?? "-"))
        }
        facts.add("Format", .number(record.format))
        facts.add("Version", .number(record.version))
        facts.add("Migrations", .number(record.migrations))
        let steps = record.steps.isEmpty ? "none" : record.steps.joined(separator: ", ")
        facts.add("Steps", .text(steps, to: ViewText.factLength))
        facts.add("Other processes", .text(StoreProcesses.text(processes), to: ViewText.factLength))
        return facts
    }
}
