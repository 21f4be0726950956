import Strata
import StrataInspection
import StrataPipeline

/// The pipelines and queues with the number of their operations, pauses and limits.
struct PipelinesPage: ConsolePage {
    let path = "pipelines"
    let title = "Pipelines"
    let group: NavigationGroup? = .queues
    let needs = StoreNeeds.queues
    let template = PageTemplate.pipelines

    private static let pageSize = 100
    private static let greatestPage = 100

    struct Values: Sendable {
        let table: Table
        /// Nil if the operations were counted for this page.
        let note: String?
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        let page = Int(try request.query.number("page", upTo: Int64(Self.greatestPage)) ?? 1)
        let (found, missing, note) = try await request.read { context -> ([QueueSummary], [MissingRunner?], String?) in
            let figures = try request.figures(in: context)
            let found = try context.queueSummaries(
                from: (page - 1) * Self.pageSize,
                limit: Self.pageSize + 1,
                counts: figures.counts
            )
            let hasWorkers = MissingRunner.hasWorkers(in: context)
            let missing = found.map { MissingRunner.of($0.name, hasWorkers: hasWorkers, in: context) }
            return (found, missing, figures.note(request))
        }
        var table = Table(
            "Pipelines",
            ["Pipeline"],
            numbers: ["Queued", "Running", "Failed", "Held"],
            ["Oldest queued", "State", "Concurrent", "Rate"] + (request.allowsChanges ? ["Action"] : [])
        )
        for (queue, missing) in zip(found, missing).prefix(Self.pageSize) { table.add(row(queue, missing, request)) }
        table.whenEmpty = "The store has no pipelines yet."
        table.pager = Pager(page: page, hasMore: found.count > Self.pageSize && page < Self.greatestPage) { number in
            request.link("pipelines", ["page": "\(number)"])
        }
        return PageContent(Values(table: table, note: note))
    }

    private func row(_ queue: QueueSummary, _ missing: MissingRunner?, _ request: ConsoleRequest) -> [Cell] {
        let (name, settings) = (queue.name.rawValue, queue.settings)
        let failed = queue.counts[.failed] ?? 0
        var cells: [Cell] = [
            .text(name, href: request.address(ofPipeline: name)), .number(queue.total),
            .number(queue.counts[.active] ?? 0),
            failed > 0 ? Cell.mark("\(failed)", Mark.bad, isNumber: true) : Cell.number(0),
            .number(queue.counts[.held] ?? 0),
            .age(of: queue.oldest, at: request.time),
            MissingRunner.state(settings, missing),
            .text(ConcurrencyLimit.text(settings.maxConcurrent.value)),
            .text(RateLimitValue.text(settings.rateLimit.value)),
        ]
        guard request.allowsChanges else { return cells }
        let isPaused = settings.isPaused.value
        let action = PipelinePauseAction(isPaused: !isPaused)
        let form = request.form(action.path, ["pipeline": name], button: isPaused ? "Resume" : "Pause")
        cells.append(form.map { Cell.form($0) } ?? Cell.text("-"))
        return cells
    }
}
