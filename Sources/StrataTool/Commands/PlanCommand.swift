import ArgumentParser
import Strata
import Synchronization

/// `strata plan`: the way in which SQLite runs a query.
struct PlanCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Shows how SQLite would run a query in SQL: the indexes it uses, and the tables it reads whole.",
        discussion: "The query is not run. See https://www.sqlite.org/eqp.html for the meaning of the lines."
    )

    @OptionGroup var file: StoreArgument

    @Argument(help: "The query.")
    var query: String

    @OptionGroup var output: OutputOptions

    /// A step of the plan.
    private struct Step: Sendable {
        let id: Int64
        /// The step that this one is part of; 0 for none.
        let parent: Int64
        let detail: String

        /// - Parameter row: a row of EXPLAIN QUERY PLAN, whose third column has no meaning.
        init?(_ row: [StoredValue]) {
            guard row.count == 4, case .integer(let id) = row[0], case .integer(let parent) = row[1],
                case .text(let detail) = row[3]
            else { return nil }
            (self.id, self.parent, self.detail) = (id, parent, detail)
        }

        var json: JSON {
            .object([("id", .integer(id)), ("parent", .integer(parent)), ("detail", .text(detail))])
        }
    }

    func run(on console: Console) async throws {
        let steps = try await steps(of: query)
        // A step follows the step that it is part of.
        var depths: [Int64: Int] = [:]
        for step in steps {
            let depth = depths[step.parent].map { $0 + 1 } ?? 0
            depths[step.id] = depth
            if output.json {
                try console.print(step.json)
            } else {
                try console.print(String(repeating: "  ", count: depth) + step.detail)
            }
        }
    }

    private func steps(of query: String) async throws -> [Step] {
        try await file.querying { stack in
            let steps = Mutex<[Step]>([])
            try await stack.query("EXPLAIN QUERY PLAN \(query)") { _ in
            } row: { row in
                if let step = Step(row) { steps.withLock { $0.append(step) } }
            }
            return steps.withLock { $0 }
        }
    }
}
