import Foundation
import Strata
import StrataInspection
import StrataPipeline

/// One queued or finished operation, with everything that the store knows of it.
struct OperationPage: ConsolePage {
    let path = "operation"
    let title = "Operation"
    let group: NavigationGroup? = nil
    let needs = StoreNeeds.queues
    let template = PageTemplate.operation

    struct Values: Sendable {
        let isQueued: Bool
        let facts: Facts
        /// Parts that could not be read, with the reasons.
        let problems: [String]
        let waits: [Wait]
        let holds: Table
        let hasHolds: Bool
        let tags: [Tag]
        let payload: Document
        let result: Document?
        let failures: Table
        let steps: [Step]
        /// Nil if the operation cannot be changed.
        let actions: Actions?
        let dependencies: String?
    }

    struct Wait: Sendable {
        let text: String
        /// The address of the operation that is waited for.
        let href: String?
    }

    struct Tag: Sendable {
        let name: String
        let href: String?
    }

    struct Document: Sendable {
        let text: String
        /// The address of the whole document; nil if it is empty.
        let download: String?
    }

    /// A change of the status, in the journal.
    struct Step: Sendable {
        let time: Cell
        let status: Cell
        let attempts: Int
        let reason: String?
    }

    struct Actions: Sendable {
        let retry: FormView?
        let hold: String?
        let priority: String?
        let priorityValue: Int64
        let holdName: String
        let skip: String?
        let delete: String?
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        let id = try request.query.requiredNumber("id", upTo: ConsoleFields.greatestID)
        let found = try await request.read { context -> (JobDetails, MissingRunner?)? in
            guard let details = try JobDetails.find(id, isComplete: false, in: context) else { return nil }
            return (details, Self.missingRunner(details.row, in: context))
        }
        guard let (details, missing) = found else { throw Self.notFound(id) }
        let isQueued = details.row.finishedAt == nil
        let values = Values(
            isQueued: isQueued,
            facts: facts(details, request),
            problems: details.problems.map { ViewText.line($0, to: ViewText.factLength) },
            waits: details.waitReasons.map { wait($0, request) } + waits(missing, request),
            holds: holds(details, request),
            hasHolds: !details.holds.isEmpty,
            tags: details.tags.map { tag in
                let state = isQueued ? "" : OperationSelection.finished
                let href = request.link("operations", ["state": state, "tag": tag])
                return Tag(name: ViewText.line(tag), href: href)
            },
            payload: document(details.payload, .payload, id, request),
            result: details.result.map { document($0, .result, id, request) },
            failures: failures(details),
            steps: details.transitions.map { step($0) },
            actions: isQueued && request.allowsChanges ? actions(details, request) : nil,
            dependencies: isQueued ? request.link("dependencies", ["id": "\(id)"]) : nil
        )
        return PageContent(title: "Operation \(id)", values)
    }

    static func notFound(_ id: Int64) -> ConsoleError {
        .notFound(
            "The store has no operation \(id). It was never queued, or it was deleted, or it is finished for so long "
                + "that its record is no longer kept."
        )
    }

    // MARK: Facts

    private func facts(_ details: JobDetails, _ request: ConsoleRequest) -> Facts {
        let row = details.row
        var facts = Facts()
        func add(_ name: String, _ text: String?) {
            if let text { facts.add(name, .text(text, to: ViewText.factLength)) }
        }
        func addTime(_ name: String, _ date: Date?) {
            if let date { facts.add(name, .time(date)) }
        }
        facts.add("Status", .mark(row.status, Mark.kind(ofStatus: row.status)))
        facts.add("Pipeline", .text(row.pipeline, href: request.address(ofPipeline: row.pipeline)))
        if !row.lane.utf8.isEmpty {
            let href = request.link("operations", ["pipeline": row.pipeline, "lane": row.lane])
            facts.add("Lane", .text(row.lane, href: href))
        }
        add("Type", row.type)
        if let version = details.payloadVersion, version != 1 { facts.add("Version of the type", .number(version)) }
        add("Key", row.key)
        if let priority = row.priority { facts.add("Priority", .number(priority)) }
        if let attempts = row.attempts { facts.add("Attempts", .number(attempts)) }
        addTime("Queued", row.queuedAt)
        addTime("Started", row.startedAt)
        addTime("Finished", row.finishedAt)
        if let progress = row.progress { add("Progress", Self.percent(progress)) }
        add("Request", details.request)
        add("Schedule", details.schedule)
        addTime("Expires", details.expiresAt)
        add("Timeout", details.timeout.map { TimeSpan.text($0.seconds) })
        if let retry = details.retry {
            let count = retry.maxAttempts.map { "\($0) attempts" } ?? "any number of attempts"
            let (first, last) = (TimeSpan.text(retry.base.seconds), TimeSpan.text(retry.cap.seconds))
            add("Retries", "\(count), pauses from \(first) to \(last)")
        }
        return facts
    }

    /// A store may contain any number.
    private static func percent(_ progress: Double) -> String {
        guard (0...1).contains(progress) else { return "\(progress)" }
        return "\(Int((progress * 100).rounded())) %"
    }

    /// - Returns: nil also for an operation that could not run in any process.
    private static func missingRunner(_ row: JobRow, in context: ObjectContext) -> MissingRunner? {
        let isPending = row.status.hasSameBytes(as: OperationStatus.pending.description)
        guard row.finishedAt == nil, isPending else { return nil }
        let hasWorkers = MissingRunner.hasWorkers(in: context)
        return MissingRunner.of(PipelineName(row.pipeline), hasWorkers: hasWorkers, in: context)
    }

    private func waits(_ missing: MissingRunner?, _ request: ConsoleRequest) -> [Wait] {
        missing.map { [Wait(text: $0.text, href: request.link("workers"))] } ?? []
    }

    private func wait(_ reason: WaitReason, _ request: ConsoleRequest) -> Wait {
        func link(_ id: Int64) -> String? { request.address(ofOperation: id) }
        switch reason {
        case .dependency(let id):
            return Wait(text: "depends on operation \(id.rawValue)", href: link(id.rawValue))
        case .lane(let id):
            return Wait(text: "runs after operation \(id.rawValue) in its lane", href: link(id.rawValue))
        default:
            // The template ends the sentence, and the message of an error may have ended already.
            let text = reason.text
            let open = text.hasByteSuffix(".") ? text.droppingLastBytes(1) : text
            return Wait(text: ViewText.line(open, to: ViewText.factLength), href: nil)
        }
    }

    private func holds(_ details: JobDetails, _ request: ConsoleRequest) -> Table {
        var table = Table("Holds", ["Name", "Until"] + (request.allowsChanges ? ["Action"] : []))
        for hold in details.holds {
            let isOpen = hold.until >= .distantFuture
            var cells: [Cell] = [.text(hold.name), isOpen ? Cell.text("its release") : Cell.time(hold.until)]
            if request.allowsChanges {
                let items: KeyValuePairs<String, String> = [
                    "id": "\(details.row.id)", "hold": hold.name, "from": path,
                ]
                let form = request.form(OperationChangeAction(change: .release).path, items, button: "Release")
                cells.append(form.map { Cell.form($0) } ?? Cell.text("-"))
            }
            table.add(cells)
        }
        return table
    }

    private func failures(_ details: JobDetails) -> Table {
        var table = Table("Failed attempts", ["Attempt", "Time", "Message"])
        for failure in details.failures {
            table.add([
                .text("\(failure.attempt)"),
                .time(Date(timeIntervalSinceReferenceDate: failure.time)),
                .text(failure.message, to: ViewText.factLength),
            ])
        }
        table.whenEmpty = "No attempt has failed."
        return table
    }

    private func step(_ transition: JobDetails.Transition) -> Step {
        Step(
            time: .time(transition.at),
            status: .mark(transition.status, Mark.kind(ofStatus: transition.status)),
            attempts: transition.attempts,
            reason: transition.reason.map { ViewText.line($0, to: ViewText.factLength) }
        )
    }

    // MARK: Documents

    private func document(
        _ document: StoredDocument,
        _ part: OperationDownload.Part,
        _ id: Int64,
        _ request: ConsoleRequest
    ) -> Document {
        var lines = document.lines(advice: "")
        if !document.isText { lines += Self.hexadecimal(document.bytes.prefix(256)) }
        let href = request.link(OperationDownload.path, ["id": "\(id)", "part": part.rawValue])
        return Document(text: lines.joined(separator: "\n"), download: document.size > 0 ? href : nil)
    }

    /// Lines of sixteen bytes with their offset.
    static func hexadecimal(_ bytes: Data) -> [String] {
        let all = Array(bytes)
        func digits(_ number: Int, _ count: Int) -> String {
            let text = String(number, radix: 16)
            return String(repeating: "0", count: max(count - text.utf8.count, 0)) + text
        }
        return stride(from: 0, to: all.count, by: 16).map { start in
            let line = all[start..<min(start + 16, all.count)].map { digits(Int($0), 2) }
            return digits(start, 4) + "  " + line.joined(separator: " ")
        }
    }

    // MARK: Actions

    private func actions(_ details: JobDetails, _ request: ConsoleRequest) -> Actions {
        let id = "\(details.row.id)"
        let isFailed = details.row.status.hasSameBytes(as: OperationStatus.failed.description)
        func address(_ change: OperationChange) -> String? {
            request.link(
                ConsoleRoute.actionPrefix + OperationChangeAction(change: change).path,
                ["id": id, "from": path]
            )
        }
        func confirmation(_ change: OperationChange) -> String? {
            request.link("operations/change", ["change": change.rawValue, "id": id])
        }
        let retry = request.form(OperationChangeAction(change: .retry).path, ["id": id, "from": path], button: "Retry")
        return Actions(
            retry: isFailed ? retry : nil,
            hold: address(.hold),
            priority: address(.setPriority),
            priorityValue: details.row.priority ?? 0,
            holdName: OperationChangeOptions.usualHold,
            skip: confirmation(.skip),
            delete: confirmation(.delete)
        )
    }
}
