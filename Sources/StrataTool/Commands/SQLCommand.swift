import ArgumentParser
import Strata
import Synchronization

/// `strata sql`: the rows of a query.
struct SQLCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "sql",
        abstract: "Runs a query in SQL, and prints its rows.",
        discussion: """
            The query is one statement that begins with SELECT, WITH, VALUES or EXPLAIN. Its tables are those that \
            'strata inspect' lists. Without --json, all rows are read before the first is printed.
            """
    )

    @OptionGroup var file: StoreArgument

    @Argument(help: "The query.")
    var query: String

    @OptionGroup var output: OutputOptions

    func run(on console: Console) async throws {
        let (query, isJSON) = (query, output.json)
        try await file.querying { stack in
            if isJSON {
                try await Self.printJSON(query, stack, console)
            } else {
                try await Self.printTable(query, stack, console)
            }
        }
    }

    private static func printJSON(_ query: String, _ stack: ContextStack, _ console: Console) async throws {
        let names = Mutex<[String]>([])
        try await stack.query(query) { columns in
            if let name = repeated(columns) {
                throw ToolError(
                    "Two columns of the query have the name '\(name)', which one JSON object cannot contain. Name them "
                        + "with AS."
                )
            }
            names.withLock { $0 = columns }
        } row: { values in
            let fields = zip(names.withLock { $0 }, values).map { (name: $0, value: JSON($1)) }
            try console.print(.object(fields))
        }
    }

    private static func repeated(_ columns: [String]) -> String? {
        var seen: Set<UTF8Text> = []
        return columns.first { !seen.insert(UTF8Text($0)).inserted }
    }

    private static func printTable(_ query: String, _ stack: ContextStack, _ console: Console) async throws {
        let table = Mutex(TextTable([]))
        try await stack.query(query) { columns in
            table.withLock { $0 = TextTable(columns) }
        } row: { values in
            let cells = values.map(TextTable.Cell.init)
            table.withLock { $0.add(cells) }
        }
        try console.print(table.withLock { $0.lines })
    }
}

extension TextTable.Cell {
    /// A value of the store. Bytes are shown as their number.
    fileprivate init(_ value: StoredValue) {
        switch value {
        case .null: self = Self(text: "NULL", isNumber: false)
        case .integer(let number): self = .number(number)
        case .real(let number): self = Self(text: "\(number)", isNumber: true)
        case .text(let text): self = .text(text)
        case .blob(let bytes): self = Self(text: "(\(bytes.count) bytes)", isNumber: false)
        }
    }
}
