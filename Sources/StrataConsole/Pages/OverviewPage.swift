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
        /// Nil for a store without a home.
        let home: Home?
        /// Nil if the stack does not have the models of queues.
        let queues: Queues?
    }

    struct Queues: Sendable {
        let totals: Totals
        let charts: [Chart]
        let failing: Table
        let failed: Table
        let running: Table
    }

    private struct Work: Sendable {
        let figures: QueueFigures
        let failed: [JobRow]
        /// The messages of the last failed attempts, by the ids of the operations.
        let messages: [Int64: String]
        let running: [JobRow]
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        let record = try await request.store.record()
        let processes = await request.store.processes.current()
        let facts = facts(record, processes, request)
        let home = await home(record, request)
        guard request.store.hasQueues else { return PageContent(Values(facts: facts, home: home, queues: nil)) }
        let work = try await request.read { context -> Work in
            let failed = try Self.operations(.failed, at: request.time, in: context)
            return Work(
                figures: try request.figures(in: context),
                failed: failed,
                messages: try JobDetails.lastMessages(of: failed.map(\.id), in: context),
                running: try Self.operations(.active, at: request.time, in: context)
            )
        }
        let queues = Queues(
            totals: Totals(work.figures.totals, note: work.figures.note(request)) { status in
                request.link("operations", ["state": status.description])
            },
            charts: [
                OverviewCharts.throughput(work.figures.finished, from: work.figures.start),
                OverviewCharts.depth(request.store.depth.all, at: request.time),
            ],
            failing: failing(work.figures.counts, request),
            failed: failed(work, request),
            running: running(work.running, request)
        )
        return PageContent(Values(facts: facts, home: home, queues: queues))
    }

    private static func operations(
        _ status: OperationStatus,
        at time: Date,
        in context: ObjectContext
    ) throws -> [JobRow] {
        var filter = OperationFilter(at: time)
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
                .age(of: newest.time, at: request.time, unknown: "at an unknown time")
            )
            facts.add("Author", .text(newest.author ?? "-"))
        } else {
            facts.add("Newest commit", .text("none yet"))
        }
        facts.add("Models", .number(record.schema.tables.filter { !$0.isRelationship }.count))
        facts.add("Version", .number(record.version))
        let sizes = StoreFileSizes(of: request.store.stack.filePath)
        facts.add("Size", .size(sizes.file))
        facts.add("Journal", .size(sizes.journal))
        let others = StoreProcesses.text(processes)
        facts.add("Other processes", .text(others, href: request.store.hasQueues ? request.link("workers") : nil))
        facts.add("Changes", .text(request.allowsChanges ? "allowed" : "not allowed"))
        return facts
    }

    private func failing(
        _ counts: [PipelineName: [OperationStatus: Int]],
        _ request: ConsoleRequest
    ) -> Table {
        var table = Table("Pipelines with failed operations", ["Pipeline"], numbers: ["Failed", "Queued"])
        let names = counts.filter { ($0.value[.failed] ?? 0) > 0 }.map { $0.key.rawValue }.sortedByBytes()
        for name in names.prefix(Self.limit) {
            let counts = counts[PipelineName(name)] ?? [:]
            table.add([
                .text(name, href: request.address(ofPipeline: name)),
                .number(counts[.failed] ?? 0, href: request.address(ofOperationsIn: name, .failed)),
                .number(counts.values.reduce(0, +)),
            ])
        }
        table.whenEmpty = "No operation has failed."
        return table
    }

    private func failed(_ work: Work, _ request: ConsoleRequest) -> Table {
        var table = Table(
            "Failed operations",
            ["Type", "Pipeline", "Lane", "Last attempt"],
            numbers: ["Operation", "Attempts"],
            ["Error"]
        )
        for row in work.failed { table.add(cells(row, request) + [.text(work.messages[row.id] ?? "-")]) }
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
            .text(row.lane), .age(of: row.startedAt, at: request.time),
            .number(row.id, href: request.address(ofOperation: row.id)),
            .number(row.attempts),
        ]
    }
}
