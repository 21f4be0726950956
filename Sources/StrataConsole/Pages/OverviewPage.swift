import Foundation
import Strata
import StrataInspection
import StrataPipeline

/// The first page: the newest commit, sizes and processes, charts, failures, and running operations.
struct OverviewPage: ConsolePage {
    let path = ""
    let title = "Overview"
    let group: NavigationGroup? = .store
    let needs = StoreNeeds.store
    let template = PageTemplate.overview

    /// The greatest number of pipelines, of failed and of running operations that are shown.
    private static let limit = 20

    struct Values: Sendable {
        let facts: Facts
        /// Nil if the stack does not have the models of queues.
        let queues: Queues?
    }

    struct Queues: Sendable {
        let totals: [Total]
        let charts: [Chart]
        let failing: Table
        let failed: Table
        let running: Table
    }

    private struct Work: Sendable {
        let queues: [QueueSummary]
        let finished: [Int]
        let failed: [JobRow]
        let running: [JobRow]
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        let record = try await request.store.record()
        let processes = await request.store.processes.current()
        let facts = facts(record, processes, request)
        guard request.store.hasQueues else { return PageContent(Values(facts: facts, queues: nil)) }
        let start = OverviewCharts.start(at: request.time)
        let work = try await request.read { context in
            Work(
                // Each pipeline costs a few lookups; the counts of all of them come from one index.
                queues: try context.queueSummaries(limit: PipelinesPage.greatestCount),
                finished: try context.finishedCounts(
                    from: start,
                    minutes: OverviewCharts.minutes,
                    limit: OverviewCharts.countLimit
                ),
                failed: try Self.operations(.failed, in: context),
                running: try Self.operations(.active, in: context)
            )
        }
        let queues = Queues(
            totals: Total.all { status in work.queues.reduce(0) { $0 + ($1.counts[status] ?? 0) } },
            charts: [
                OverviewCharts.throughput(work.finished, from: start),
                OverviewCharts.depth(request.store.depth.all, at: request.time),
            ],
            failing: failing(work.queues, request),
            failed: failed(work.failed, request),
            running: running(work.running, request)
        )
        return PageContent(Values(facts: facts, queues: queues))
    }

    private static func operations(_ status: OperationStatus, in context: ObjectContext) throws -> [JobRow] {
        var filter = OperationFilter()
        filter.status = status
        return try JobRow.list(filter, limit: limit, in: context)
    }

    private func facts(_ record: StoreRecord, _ processes: StoreProcesses?, _ request: ConsoleRequest) -> Facts {
        var facts = Facts()
        if let newest = record.newest {
            let commit = request.address(ofCommit: newest.sequence)
            facts.add("Newest commit", .number(newest.sequence, href: commit))
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
        let sizes = StoreFileSizes(of: request.store.stack.filePath)
        facts.add("Size", .text(StoreFileSizes.text(sizes.file)))
        facts.add("Journal", .text(StoreFileSizes.text(sizes.journal)))
        let others = StoreProcesses.text(processes)
        facts.add("Other processes", .text(others, href: request.store.hasQueues ? request.link("workers") : nil))
        facts.add("Changes", .text(request.allowsChanges ? "allowed" : "not allowed"))
        return facts
    }

    private func failing(_ queues: [QueueSummary], _ request: ConsoleRequest) -> Table {
        var table = Table("Pipelines with failed operations", ["Pipeline"], numbers: ["Failed", "Queued"])
        for queue in queues.filter({ ($0.counts[.failed] ?? 0) > 0 }).prefix(Self.limit) {
            let name = queue.name.rawValue
            table.add([
                .text(name, href: request.address(ofPipeline: name)),
                .number(queue.counts[.failed] ?? 0, href: request.address(ofOperationsIn: name, .failed)),
                .number(queue.total),
            ])
        }
        table.whenEmpty = "No operation has failed."
        return table
    }

    private func failed(_ rows: [JobRow], _ request: ConsoleRequest) -> Table {
        var table = Table(
            "Failed operations",
            ["Type", "Pipeline", "Lane", "Last attempt"],
            numbers: ["Operation", "Attempts"]
        )
        for row in rows { table.add(cells(row, request)) }
        table.whenEmpty = "No operation needs attention."
        return table
    }

    private func running(_ rows: [JobRow], _ request: ConsoleRequest) -> Table {
        var table = Table(
            "Running operations",
            ["Type", "Pipeline", "Lane", "Since"],
            numbers: ["Operation", "Attempts"]
        )
        for row in rows { table.add(cells(row, request)) }
        table.whenEmpty = "No operation is running."
        return table
    }

    private func cells(_ row: JobRow, _ request: ConsoleRequest) -> [Cell] {
        [
            .text(row.type), .text(row.pipeline, href: request.address(ofPipeline: row.pipeline)),
            .text(row.lane), row.startedAt.map { Cell.age(of: $0, at: request.time) } ?? Cell.text("-"),
            .number(row.id, href: request.address(ofOperation: row.id)),
            row.attempts.map { Cell.number($0) } ?? Cell.text("-"),
        ]
    }
}
