#if Postgres
    import ArgumentParser
    import Strata
    import StrataInspection
    import StrataPostgres

    /// `strata home status`.
    struct HomeStatusCommand: ToolCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Shows the newest and the oldest transaction of a home, its size, and the rows of its tables.",
            discussion: "Counts all rows. Delays no commit."
        )

        @OptionGroup var argument: HomeArgument
        @OptionGroup var output: OutputOptions

        func run(on console: Console) async throws {
            let home = try argument.home()
            defer { home.close() }
            let status = try home.status()
            if output.json { try console.print(status.json) } else { try console.print(status.lines) }
        }
    }

    extension PostgresHomeStatus {
        fileprivate var lines: [String] {
            var table = TextTable(["table", "rows"])
            for (name, rowCount) in tables { table.add([.text(name), .number(rowCount)]) }
            let facts = [
                (name: "home", value: name), (name: "format", value: "\(format)"),
                (name: "version", value: "\(version)"),
                (name: "position", value: "transaction \(position.number), \(position.id)"),
                (name: "newest", value: Self.text(newest)), (name: "oldest", value: Self.text(oldest)),
                (name: "kept", value: "\(transactionCount) transactions, \(transactionSize) bytes"),
            ]
            return TextTable.lines(of: facts) + [""] + table.lines
        }

        private static func text(_ transaction: Transaction?) -> String {
            guard let transaction else { return "no transaction is kept" }
            return ["transaction \(transaction.number)", Timestamp.text(transaction.time)].compactMap { $0 }
                .joined(separator: ", ")
        }

        fileprivate var json: JSON {
            .object([
                ("home", .text(name)), ("format", .integer(format)), ("version", .integer(version)),
                ("fingerprint", .integer(Int64(fingerprint))),
                ("position", .object([("number", .integer(position.number)), ("id", .text(position.id.uuidString))])),
                ("newest", Self.json(newest)), ("oldest", Self.json(oldest)),
                (
                    "transactions",
                    .object([("count", .integer(transactionCount)), ("size", .integer(transactionSize))])
                ),
                (
                    "tables",
                    .array(tables.map { .object([("name", .text($0.name)), ("rowCount", .integer($0.rowCount))]) })
                ),
            ])
        }

        private static func json(_ transaction: Transaction?) -> JSON {
            guard let transaction else { return .null }
            return .object([("number", .integer(transaction.number)), ("time", .time(transaction.time))])
        }
    }
#endif
