import Foundation
import Strata
import StrataInspection
import StrataPipeline

/// A pipeline or queue: its operations by status, its settings, and its lanes with what blocks them.
struct PipelinePage: ConsolePage {
    static let pathText = "pipeline"

    let path = PipelinePage.pathText
    let title = "Pipeline"
    let group: NavigationGroup? = nil
    let needs = StoreNeeds.queues
    let template = PageTemplate.pipeline

    /// The number of lanes of a page, and the greatest number of blocked lanes.
    static let laneLimit = 25

    struct Values: Sendable {
        let facts: Facts
        let totals: Totals
        let settings: Table
        /// Nil if the store may not be changed.
        let controls: PipelineControls?
        /// Nil if the operations of a lane do not wait for each other.
        let blocked: Table?
        let lanes: Table
    }

    /// What a pipeline's page reads.
    private struct Work: Sendable {
        let figures: QueueFigures
        let queue: QueueSummary
        let record: PipelineRecord.Row?
        let missing: MissingRunner?
        let oldestPending: Date?
        let rate: RateLimitState?
        let blocked: [LaneRow]
        let lanes: [LaneRow]
    }

    /// The address of the page about a pipeline, for actions; that of the list for a name that is too long.
    static func address(of name: String) -> String {
        ConsoleLink.path(pathText, ["pipeline": name]) ?? "pipelines"
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        let name = try request.query.required("pipeline")
        let after = request.query.text("after")
        let work = try await request.read { try Self.work(PipelineName(name), after: after, request, in: $0) }
        guard let work else {
            throw ConsoleError.notFound(
                "The store does not have a pipeline '\(ViewText.line(name))'. No process has used the name."
            )
        }
        let isSerial = work.record.map { $0.ordering != .flat } ?? false
        let values = Values(
            facts: facts(work, request),
            totals: Totals(work.queue.counts, note: work.figures.note(request)) { status in
                request.address(ofOperationsIn: name, status)
            },
            settings: settings(work.queue.settings, isOfBroker: work.record?.isTransient ?? false),
            controls: PipelineControls(work.queue.settings, isOfBroker: work.record?.isTransient ?? false, request),
            blocked: isSerial ? blocked(work.blocked, request) : nil,
            lanes: lanes(of: name, after: after, work.lanes, request)
        )
        return PageContent(title: "Pipeline \(ViewText.line(name))", values)
    }

    /// - Returns: nil if no process has used the name.
    private static func work(
        _ name: PipelineName,
        after lane: String?,
        _ request: ConsoleRequest,
        in context: ObjectContext
    ) throws -> Work? {
        let figures = try request.figures(in: context)
        let counts = figures.counts[name] ?? [:]
        guard let queue = try context.queueSummary(of: name, counts: counts) else { return nil }
        let record = try context.pipelineRecord(of: name)
        // A queue of a broker does not have its own limit.
        let limit = record?.isTransient == true ? nil : queue.settings.rateLimit.value
        return Work(
            figures: figures,
            queue: queue,
            record: record,
            missing: MissingRunner.of(name, hasWorkers: MissingRunner.hasWorkers(in: context), in: context),
            oldestPending: try context.oldestOperation(of: name, .pending),
            rate: try limit.map { try context.rateLimitState(of: name, $0, now: request.time) },
            blocked: try LaneRow.blocked(of: name, record, limit: laneLimit, in: context),
            // One more than shown says whether there are further lanes.
            lanes: try LaneRow.list(of: name, record, after: lane, limit: laneLimit + 1, in: context)
        )
    }

    // MARK: Facts and settings

    private func facts(_ work: Work, _ request: ConsoleRequest) -> Facts {
        let (queue, settings) = (work.queue, work.queue.settings)
        var facts = Facts()
        facts.add("State", MissingRunner.state(settings, work.missing))
        let name = queue.name.rawValue
        facts.add("Queued", .number(queue.total, href: request.address(ofOperationsIn: name)))
        facts.add("Failed", .number(queue.counts[.failed] ?? 0, href: request.address(ofOperationsIn: name, .failed)))
        facts.add("Oldest queued operation", .age(of: queue.oldest, at: request.time))
        facts.add("Oldest pending operation", .age(of: work.oldestPending, at: request.time))
        if let record = work.record {
            facts.add("Kind", .text(record.isTransient ? "queue of a broker" : "pipeline"))
            facts.add("Order", .text(record.ordering.rawValue))
            facts.add("After a failure", .text(Self.text(record.whenFailed)))
            facts.add("Concurrent in each lane", .text(ConcurrencyLimit.text(record.laneLimit)))
            facts.add("Greatest number of crashes", .number(record.crashLimit))
        } else {
            facts.add("Kind", .text("not opened by a process yet"))
        }
        if let rate = work.rate {
            facts.add("Starts allowed now", .number(Self.starts(rate.tokens)))
            facts.add("Next start", rate.nextStart.map { Cell.time($0) } ?? Cell.text("at once"))
        }
        return facts
    }

    private static func text(_ policy: FailurePolicy) -> String {
        switch policy {
        case .blockLane: "blocks its lane"
        case .setAside: "is set aside"
        case .discard: "is discarded"
        }
    }

    private func settings(_ settings: PipelineSettings, isOfBroker: Bool) -> Table {
        var table = Table("Settings", ["Setting", "In effect", "Declared", "Last change by an operator"])
        let (concurrent, rate, declared) = (settings.maxConcurrent, settings.rateLimit, settings.declared)
        table.add([
            .text("Paused"), .text(settings.isPaused.value ? "yes" : "no"), .text("-"),
            .text(settings.isPaused.change?.text ?? "-"),
        ])
        // The limits of a broker count all of its queues, and are not stored with a queue.
        if isOfBroker { return table }
        table.add([
            .text(PipelineLimit.concurrent.title), Self.value(ConcurrencyLimit.text(concurrent.value), concurrent),
            .text(declared.map { ConcurrencyLimit.text($0.maxConcurrent) } ?? "-"),
            .text(concurrent.change?.text ?? "-"),
        ])
        table.add([
            .text(PipelineLimit.rate.title), Self.value(RateLimitValue.text(rate.value), rate),
            .text(declared.map { RateLimitValue.text($0.rateLimit) } ?? "-"), .text(rate.change?.text ?? "-"),
        ])
        return table
    }

    private static func value<Value: Sendable & Hashable>(
        _ text: String,
        _ setting: PipelineSettings.Setting<Value>
    ) -> Cell {
        setting.isOverridden ? .mark(text, Mark.warning, note: "set by an operator") : .text(text)
    }
}
