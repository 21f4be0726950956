#if Postgres
    import ArgumentParser
    import Foundation
    import Strata
    import StrataInspection
    import StrataPostgres

    /// `strata home status`.
    struct HomeStatusCommand: ToolCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Shows the newest and the oldest transaction of a home, its size, its nodes, and its tables.",
            discussion: "Counts all rows. Delays no commit."
        )

        @OptionGroup var argument: HomeArgument
        @OptionGroup var output: OutputOptions

        func run(on console: Console) async throws {
            let home = try argument.home()
            defer { home.close() }
            try home.requireStore()
            let nodes = try home.nodes()
            let status = try home.status()
            if output.json {
                try console.print(status.json(nodes))
            } else {
                try console.print(status.lines(nodes))
            }
        }
    }

    extension PostgresHomeStatus {
        fileprivate func lines(_ nodes: [HomeNodeStatus]) -> [String] {
            var list = TextTable(["node", "transaction", "behind", "last report"])
            let now = Date()
            for node in nodes {
                let age = Timestamp.age(since: now.addingTimeInterval(-node.silence), at: now)
                list.add([
                    .text(node.name), .number(node.position.number), Self.lag(of: node), .text("\(age) ago"),
                ])
            }
            var table = TextTable(["table", "rows"])
            for (name, rowCount) in tables { table.add([.text(name), .number(rowCount)]) }
            let facts = [
                (name: "home", value: name), (name: "format", value: "\(format)"),
                (name: "version", value: "\(version)"),
                (name: "position", value: "transaction \(position.number), \(position.id)"),
                (name: "newest", value: Self.text(newest)), (name: "oldest", value: Self.text(oldest)),
                (name: "kept", value: "\(transactionCount) transactions, \(transactionSize) bytes"),
            ]
            return TextTable.lines(of: facts) + [""] + list.lines + [""] + table.lines
        }

        /// The number of transactions that a node lacks, or that a home has lost and the node has.
        private static func lag(of node: HomeNodeStatus) -> TextTable.Cell {
            let ahead = node.transactionsAhead
            return ahead > 0 ? .text("\(ahead) ahead") : .number(node.transactionsBehind)
        }

        private static func text(_ transaction: Transaction?) -> String {
            guard let transaction else { return "no transaction is kept" }
            return ["transaction \(transaction.number)", Timestamp.text(transaction.time)].compactMap { $0 }
                .joined(separator: ", ")
        }

        fileprivate func json(_ nodes: [HomeNodeStatus]) -> JSON {
            .object([
                ("home", .text(name)), ("format", .integer(format)), ("version", .integer(version)),
                ("fingerprint", .integer(Int64(fingerprint))),
                ("position", .object([("number", .integer(position.number)), ("id", .text(position.id.uuidString))])),
                ("newest", Self.json(newest)), ("oldest", Self.json(oldest)),
                (
                    "transactions",
                    .object([("count", .integer(transactionCount)), ("size", .integer(transactionSize))])
                ),
                ("nodes", .array(nodes.map { Self.json($0) })),
                (
                    "tables",
                    .array(tables.map { .object([("name", .text($0.name)), ("rowCount", .integer($0.rowCount))]) })
                ),
            ])
        }

        private static func json(_ node: HomeNodeStatus) -> JSON {
            .object([
                ("name", .text(node.name)), ("transaction", .integer(node.position.number)),
                ("behind", .integer(node.transactionsBehind)), ("ahead", .integer(node.transactionsAhead)),
                ("time", .time(node.time)), ("silence", .orNull(node.silence)),
            ])
        }

        private static func json(_ transaction: Transaction?) -> JSON {
            guard let transaction else { return .null }
            return .object([("number", .integer(transaction.number)), ("time", .time(transaction.time))])
        }
    }
#endif
