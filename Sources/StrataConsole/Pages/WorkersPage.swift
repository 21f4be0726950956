import Foundation
import Strata
import StrataInspection
import StrataPipeline

/// The workers that the store knows, and the processes that have its file open.
struct WorkersPage: ConsolePage {
    let path = "workers"
    let title = "Workers"
    let group: NavigationGroup? = .queues
    let needs = StoreNeeds.queues
    let template = PageTemplate.workers

    private static let pageSize = 100
    /// The greatest number of processes that are shown.
    private static let processLimit = 200

    struct Values: Sendable {
        let workers: Table
        let processes: Table
        let note: String?
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        let after = try request.query.number("after") ?? 0
        let found = try await request.read { context in
            try context.workerSummaries(after: after, limit: Self.pageSize + 1)
        }
        let processes = await request.store.processes.current()
        var table = Table(
            "Workers",
            ["State", "Machine", "Since", "Last heartbeat"],
            numbers: ["Worker", "Process", "Running", "Commit of the heartbeat"]
        )
        let shown = found.prefix(Self.pageSize)
        for worker in shown { table.add(Self.row(worker, request)) }
        table.whenEmpty = "No worker runs operations of this store."
        let last = found.count > Self.pageSize ? shown.last?.id : nil
        table.pager = Pager(
            first: after > 0 ? request.link(path) : nil,
            next: last.flatMap { request.link(path, ["after": "\($0)"]) }
        )
        return PageContent(
            Values(workers: table, processes: Self.table(processes), note: Self.note(processes))
        )
    }

    private static func row(_ worker: WorkerSummary, _ request: ConsoleRequest) -> [Cell] {
        [
            state(worker.state), .text(worker.machine),
            .age(of: worker.startedAt, at: request.time),
            .age(of: worker.heartbeatAt, at: request.time, unknown: "no longer known"),
            .number(worker.id), .number(worker.process), .number(worker.runningCount),
            worker.heartbeatCommit.map { Cell.number($0, href: request.address(ofCommit: $0)) } ?? Cell.text("-"),
        ]
    }

    private static func state(_ state: WorkerSummary.State) -> Cell {
        switch state {
        case .running: .mark("running", Mark.good)
        case .ended: .mark("ended", Mark.bad)
        case .elsewhere: .mark("on another machine", Mark.idle)
        }
    }

    private static func table(_ processes: StoreProcesses?) -> Table {
        var table = Table("Processes that have the file open", ["Program"], numbers: ["Process"])
        table.add([
            .text(ProcessInfo.processInfo.processName + " (this console)"),
            .number(ProcessInfo.processInfo.processIdentifier),
        ])
        for entry in (processes?.entries ?? []).prefix(processLimit) {
            table.add([.text(entry.command ?? "-"), .number(entry.id)])
        }
        return table
    }

    private static func note(_ processes: StoreProcesses?) -> String? {
        guard let processes else { return "This system does not tell which other processes have the file open." }
        if processes.entries.count > processLimit { return "Further processes have the file open." }
        return processes.isComplete ? nil : "Processes of other users could not be examined."
    }
}
