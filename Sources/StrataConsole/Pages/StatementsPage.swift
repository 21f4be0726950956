import Strata

/// The slow statements that the application has collected.
struct StatementsPage: ConsolePage {
    let path = "statements"
    let title = "Statements"
    let group: NavigationGroup? = .store
    let needs = StoreNeeds.store
    let template = PageTemplate.statements

    /// The greatest number of statements and of executions that are shown.
    static let limit = 50

    struct Values: Sendable {
        /// Nil if the application has not passed a collection.
        let collected: Collected?
    }

    struct Collected: Sendable {
        let statements: [View]
        let hasStatements: Bool
        let newest: Table
    }

    /// One statement.
    struct View: Sendable {
        let sql: String
        let facts: Facts
        /// The lines of the plan; nil for a statement without one.
        let plan: String?
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        guard let collection = request.slowStatements else { return PageContent(Values(collected: nil)) }
        let statements = collection.worst.prefix(Self.limit).map(view)
        var newest = Table(
            "Newest slow executions",
            ["Time", "Context"],
            numbers: ["Duration", "Rows"],
            ["Statement"]
        )
        for execution in collection.newest.prefix(Self.limit) {
            var duration = Cell.text(DurationText.text(execution.duration))
            duration.isNumber = true
            newest.add([
                .time(execution.time), .text(execution.context ?? "-"), duration, .number(execution.rowCount),
                .text(execution.sql),
            ])
        }
        newest.whenEmpty = "No statement was slow yet."
        return PageContent(
            Values(
                collected: Collected(statements: statements, hasStatements: !statements.isEmpty, newest: newest)
            )
        )
    }

    private func view(_ statement: SlowStatements.Statement) -> View {
        var facts = Facts()
        facts.add("Slow executions", .number(statement.executionCount))
        facts.add("Total", .text(DurationText.text(statement.totalDuration)))
        facts.add("Mean", .text(DurationText.text(statement.meanDuration)))
        facts.add("Longest", .text(DurationText.text(statement.maximumDuration)))
        facts.add("Rows", .number(statement.rowCount))
        facts.add("Last", .time(statement.lastExecution))
        let plan = statement.plan.joined(separator: "\n")
        return View(sql: statement.sql, facts: facts, plan: plan.utf8.isEmpty ? nil : plan)
    }
}
