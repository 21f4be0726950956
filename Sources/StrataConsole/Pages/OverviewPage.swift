import Foundation
import Strata
import StrataInspection
import StrataPipeline

/// The first page: the newest commit, the number of operations by status, failures, and running operations.
struct OverviewPage: ConsolePage {
    let path = ""
    let title = "Overview"
    let group: NavigationGroup? = .store
    let needs = StoreNeeds.store
    let template = PageTemplate.overview

    /// The greatest number of pipelines and of running operations that are shown.
    private static let limit = 20

    struct Values: Sendable {
        let facts: Facts
        /// Nil if the stack does not have the models of queues.
        let queues: Queues?
    }

    struct Queues: Sendable {
        let totals: [Total]
        let failing: Table
        let running: Table
    }

    struct Total: Sendable {
        let name: String
        let count: Int
        let kind: String
    }

    private struct Work: Sendable {
        let queues: [QueueSummary]
        let running: [JobRow]
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        let record = try await request.store.stack.storeRecord()
        guard request.store.hasQueues else {
            return PageContent(Values(facts: facts(record, request), queues: nil))
        }
        let work = try await request.read { context in
            var filter = OperationFilter()
            filter.status = .active
            return Work(
                // Each pipeline costs a few lookups; the counts of all of them come from one index.
                queues: try context.queueSummaries(limit: PipelinesPage.greatestCount),
                running: try JobRow.list(filter, limit: Self.limit, in: context)
            )
        }
        let queues = Queues(
            totals: totals(work.queues),
            failing: failing(work.queues),
            running: running(work.running, request)
        )
        return PageContent(Values(facts: facts(record, request), queues: queues))
    }

    private func facts(_ record: StoreRecord, _ request: ConsoleRequest) -> Facts {
        var facts = Facts()
        if let newest = record.newest {
            facts.add("Newest commit", .number(newest.sequence))
            facts.add(
                "Committed",
                newest.time.map { Cell.age(of: $0, at: request.time) } ?? Cell.text("at an unknown time")
            )
            facts.add("Author", .text(newest.author ?? "-"))
        } else {
            facts.add("Newest commit", .text("none yet"))
        }
        facts.add("Models", .number(record.schema.tables.filter { !$0.isRelationship }.count))
        facts.add("Version", .number(record.version))
        facts.add("Changes", .text(request.allowsChanges ? "allowed" : "not allowed"))
        return facts
    }

    private func totals(_ queues: [QueueSummary]) -> [Total] {
        OperationStatus.allCases.map { status in
            let count = queues.reduce(0) { $0 + ($1.counts[status] ?? 0) }
            return Total(
                name: status == .active ? "running" : status.description,
                count: count,
                kind: count > 0 ? Mark.kind(of: status) : Mark.idle
            )
        }
    }

    private func failing(_ queues: [QueueSummary]) -> Table {
        var table = Table("Pipelines with failed operations", ["Pipeline"], numbers: ["Failed", "Queued"])
        for queue in queues.filter({ ($0.counts[.failed] ?? 0) > 0 }).prefix(Self.limit) {
            table.add([.text(queue.name.rawValue), .number(queue.counts[.failed] ?? 0), .number(queue.total)])
        }
        table.whenEmpty = "No operation has failed."
        return table
    }

    private func running(_ rows: [JobRow], _ request: ConsoleRequest) -> Table {
        var table = Table(
            "Running operations",
            ["Type", "Pipeline", "Lane", "Since"],
            numbers: ["Operation", "Attempts"]
        )
        for row in rows {
            table.add([
                .text(row.type), .text(row.pipeline), .text(row.lane),
                row.startedAt.map { Cell.age(of: $0, at: request.time) } ?? Cell.text("-"), .number(row.id),
                row.attempts.map { Cell.number($0) } ?? Cell.text("-"),
            ])
        }
        table.whenEmpty = "No operation is running."
        return table
    }
}
