import Foundation
import Strata

@testable import StrataPipeline

extension FeatureModel {
    private func state(of label: String) -> String {
        guard let operation = queued[label] else { return finished[label].map { "\($0.result)" } ?? "lost" }
        return operation.isFailed ? "failed" : operation.startedAt == nil ? "queued" : "running"
    }

    private func line(of operation: Operation) -> String {
        "\(operation.label) '\(operation.payload)' \(state(of: operation.label)) attempts \(operation.attempts) "
            + "failures \(operation.failures) tags \(operation.draft.tags.sorted())"
    }

    /// The expected content of the store as text, in no order. The statuses of operations that wait are not
    /// distinguished, because the engine finds a reason to wait when it looks at an operation.
    var lines: Set<String> {
        var lines: Set = [
            "a pause \(isPaused), limits \(maxConcurrent ?? 0) and \(rateLimit?.count ?? 0)",
            "the schedule is due at \(nextRun ?? 0)", "\(stamps) stamps",
        ]
        if let call { lines.insert("a call of '\(call.draft.name)' at \(call.first), due at \(call.due)") }
        for run in runs { lines.insert("the run \(run) is \(state(of: run))") }
        for end in finished.values { lines.insert("\(line(of: end.operation)) value \(end.value ?? -1)") }
        for operation in queued.values {
            let holds = operation.holds.map { "\($0) \($1)" }.sorted()
            let others = operation.draft.prerequisites.filter { queued[$0.key] != nil }.map { "\($0) \($1)" }.sorted()
            lines.insert(
                "\(line(of: operation)) priority \(operation.priority) holds \(holds) after \(others) "
                    + "expires \(operation.expires ?? 0)"
            )
        }
        return lines
    }
}

extension FeatureHistory {
    /// Reads the content of the store as text, and gives names to operations that the engine has queued.
    mutating func read() async throws -> Set<String> {
        let known = FeatureReader(start: start, labels: labels)
        let (names, lines) = try await harness.stack.background { context in
            var reader = known
            let lines = try reader.read(context)
            return (reader.labels, lines)
        }
        for (number, label) in names { register(harness.stack.id(number, of: QueuedOperation.self), label) }
        return lines
    }

    /// Ends everything. Returns the first difference, or the operations that do not end.
    mutating func drain() async throws -> String? {
        var left = 400
        var next: FeatureStep? = .set(.reset)
        while let action = next {
            if let failure = try await step(action) { return "\(failure), draining by \(action)" }
            left -= 1
            if left == 0 { return "\(model.queued.keys.sorted()) do not end" }
            next = easing
        }
        for (label, end) in model.finished {
            let value = try? await harness.stack.result(of: ids[label]!, as: Int.self)
            if value != end.value { return "a wait for \(label) returns \(value ?? -1), not \(end.value ?? -1)" }
        }
        let rows = try await harness.stack.background { context in
            [
                try context.count(OperationDependency.all), try context.count(OperationHold.all),
                try context.count(OperationSettings.all),
            ]
        }
        return rows == [0, 0, 0] ? nil : "\(rows) rows are left of an empty queue"
    }

    /// A step that lets an operation continue; nil if none is left.
    private var easing: FeatureStep? {
        if model.nextRun != nil { return .pauseSchedule(true) }
        if let label = model.running.map(\.label).min() { return .end(label, .doneWithResult(7)) }
        if model.queued.values.contains(where: \.isFailed) {
            return .change(BulkStep(action: .skip(.leave), filter: .failed), isBulk: true)
        }
        return model.queued.isEmpty && model.call == nil ? nil : .pass(8)
    }
}

/// Reads the content of a store as ``FeatureModel/lines`` writes it.
private struct FeatureReader {
    let start: Date
    /// The names of operations, by their ids.
    var labels: [Int64: String]

    private func seconds(_ date: Date?) -> Int { date.map { Int($0.timeIntervalSince(start).rounded(.up)) } ?? 0 }

    mutating func read(_ context: ObjectContext) throws -> Set<String> {
        let settings = try context.pipelineSettings(of: .work)
        let schedule = try context.first(PeriodicOperation.all)
        let (limit, rate) = (settings.maxConcurrent.value, settings.rateLimit.value)
        let stamps = try context.count(Stamp.all)
        var lines: Set = [
            "a pause \(settings.isPaused.value), limits \(limit ?? 0) and \(rate?.count ?? 0)",
            "the schedule is due at \(seconds(schedule?.nextAt))", "\(stamps) stamps",
        ]
        for call in try context.fetch(DebouncedOperation.all) {
            let name = try JSONDecoder().decode(Named.self, from: call.payload).name
            lines.insert("a call of '\(name)' at \(seconds(call.firstAt)), due at \(seconds(call.dueAt))")
        }
        let runs = try context.scheduledRuns(of: "tick")
        for run in runs where labels[run.operation.rawValue] == nil {
            labels[run.operation.rawValue] = "tick@\(seconds(run.dueAt))"
        }
        for run in runs { lines.insert("the run \(labels[run.operation.rawValue]!) is \(run.outcome)") }
        let tags = try tags(context)
        for operation in try context.fetch(FinishedOperation.all) {
            let (number, payload) = (operation.id.rawValue, try operation.payload(as: Named.self).name)
            let value = try operation.resultValue(as: Int.self)
            lines.insert(
                "\(labels[number] ?? "\(number)") '\(payload)' \(operation.result) attempts \(operation.attempts) "
                    + "failures \(operation.failures.list.count) tags \(tags[number] ?? []) value \(value ?? -1)"
            )
        }
        for operation in try context.fetch(QueuedOperation.all) {
            try lines.insert(line(of: operation, tags[operation.id.rawValue] ?? [], context))
        }
        return lines
    }

    private mutating func line(
        of operation: QueuedOperation,
        _ tags: [String],
        _ context: ObjectContext
    ) throws -> String {
        let (number, payload) = (operation.id.rawValue, try operation.payload(as: Named.self).name)
        let label = labels[number] ?? payload
        labels[number] = label
        let isWaiting = operation.status != .active && operation.status != .failed
        let state = isWaiting ? "queued" : operation.status == .active ? "running" : "failed"
        let holds = try context.fetch(OperationHold.where { $0.operation == number })
            .map { "\($0.name) \(seconds($0.until))" }.sorted()
        let others = try context.fetch(OperationDependency.where { $0.dependant == number })
            .map { "\(labels[$0.prerequisite] ?? "\($0.prerequisite)") \($0.whenFailed)" }.sorted()
        let expires = seconds(try operation.expiresAt())
        return "\(label) '\(payload)' \(state) attempts \(operation.attempts) failures "
            + "\(operation.failures.list.count) tags \(tags) priority \(operation.priority) holds \(holds) after "
            + "\(others) expires \(expires)"
    }

    /// The tags of all operations, by queries for each tag.
    private func tags(_ context: ObjectContext) throws -> [Int64: [String]] {
        var tags: [Int64: [String]] = [:]
        for tag in BulkStep.tags.sorted() {
            let queued = try context.fetch(QueuedOperation.where { $0.hasTag(tag) }).map(\.id.rawValue)
            let finished = try context.fetch(FinishedOperation.where { $0.hasTag(tag) }).map(\.id.rawValue)
            for number in queued + finished { tags[number, default: []].append(tag) }
        }
        return tags
    }
}
