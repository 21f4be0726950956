import Foundation
import Strata
import StrataInspection
import StrataPipeline

/// The schedules with their next and last runs.
struct SchedulesPage: ConsolePage {
    let path = "schedules"
    let title = "Schedules"
    let group: NavigationGroup? = .queues
    let needs = StoreNeeds.queues
    let template = PageTemplate.schedules

    private static let pageSize = 50
    private static let greatestPage: Int64 = 1000
    /// The number of runs that are shown of each schedule.
    private static let runLimit = 3

    struct Values: Sendable {
        let table: Table
    }

    /// The address of the page from which an action came.
    static func address(_ request: ConsoleRequest) throws -> String {
        let page = try request.query.number("page", upTo: greatestPage) ?? 1
        return page == 1 ? "schedules" : "schedules?page=\(page)"
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        let page = Int(try request.query.number("page", upTo: Self.greatestPage) ?? 1)
        let found = try await request.read { context in
            try ScheduleRow.list(
                offset: (page - 1) * Self.pageSize,
                limit: Self.pageSize + 1,
                runs: Self.runLimit,
                in: context
            )
        }
        var columns = ["Schedule", "Pipeline", "Times", "State", "Next", "Last due", "Last run", "Earlier runs"]
        columns += ["Missed times", "If still queued"] + (request.allowsChanges ? ["Run", "Pause"] : [])
        var table = Table("Schedules", columns)
        for schedule in found.prefix(Self.pageSize) { table.add(row(schedule, page, request)) }
        table.whenEmpty = page == 1 ? "The store has no schedules." : "The list ends before this page."
        let hasMore = found.count > Self.pageSize && page < Int(Self.greatestPage)
        table.pager = Pager(page: page, hasMore: hasMore) { number in request.link("schedules", ["page": "\(number)"]) }
        return PageContent(Values(table: table))
    }

    private func row(_ schedule: ScheduleRow, _ page: Int, _ request: ConsoleRequest) -> [Cell] {
        var cells: [Cell] = [
            .text(schedule.name),
            .text(schedule.pipeline, href: request.address(ofPipeline: schedule.pipeline)),
            .text(schedule.schedule), Self.state(schedule), .time(schedule.nextAt), .time(schedule.lastAt),
            schedule.runs.first.map { Self.lastRun($0, request) } ?? Cell.text("-"),
            .text(Self.earlierRuns(schedule.runs.dropFirst(), request)), .text(schedule.catchUp),
            .text(schedule.overlap),
        ]
        guard request.allowsChanges else { return cells }
        let items: KeyValuePairs = ["schedule": schedule.name, "page": "\(page)"]
        let pause = SchedulePauseAction(isPaused: !schedule.isPaused)
        let forms = [
            request.form(ScheduleRunAction().path, items, button: "Run now"),
            request.form(pause.path, items, button: schedule.isPaused ? "Resume" : "Pause"),
        ]
        cells += forms.map { form in form.map { Cell.form($0) } ?? Cell.text("-") }
        return cells
    }

    private static func state(_ schedule: ScheduleRow) -> Cell {
        guard schedule.isPaused else { return .mark("active", Mark.good) }
        return .mark("paused", Mark.warning, note: schedule.pauseChange)
    }

    private static func lastRun(_ run: ScheduledRun, _ request: ConsoleRequest) -> Cell {
        let kind = run.outcome == .running ? Mark.active : Mark.kind(ofStatus: run.outcome.rawValue)
        let age = Timestamp.age(since: run.queuedAt, at: request.time)
        let error = run.error.map { ": " + ViewText.line($0) } ?? ""
        var cell = Cell.mark(run.outcome.rawValue, kind, note: "\(age) ago\(error)")
        // A deleted operation does not have a page.
        if run.outcome != .deleted { cell.href = request.address(ofOperation: run.operation.rawValue) }
        return cell
    }

    private static func earlierRuns(_ runs: some Collection<ScheduledRun>, _ request: ConsoleRequest) -> String {
        let texts = runs.map { "\($0.outcome.rawValue) \(Timestamp.age(since: $0.queuedAt, at: request.time)) ago" }
        return texts.isEmpty ? "-" : texts.joined(separator: ", ")
    }
}
