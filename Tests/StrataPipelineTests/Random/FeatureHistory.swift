import Foundation
import StoreModels
import Strata
import StrataTesting

@testable import StrataPipeline

/// A pipeline and its reference model, to which the same steps are applied.
struct FeatureHistory: RandomHistory {
    struct Stop: Error {}

    let rules: FeatureRules
    private(set) var model: FeatureModel
    private(set) var harness: PipelineHarness
    /// The ids of the operations, by the names that the history gives to them, and these names.
    private(set) var ids: [String: ObjectID<QueuedOperation>] = [:]
    private(set) var labels: [Int64: String] = [:]
    /// The number of starts that were compared since the pipeline was last opened.
    private var seenStarts = 0
    let start: Date
    private let folder: ScratchFolder

    static func drawRules(_ dice: inout Dice) -> FeatureRules { FeatureRules(&dice) }

    init(_ rules: FeatureRules) async throws {
        self.rules = rules
        model = FeatureModel(rules)
        folder = try ScratchFolder()
        harness = try await Self.open(rules, folder, VirtualClock())
        start = harness.clock.now
        try await harness.stack.background { context in
            try context.schedule(
                "tick",
                Named(name: "tick"),
                in: .work,
                lane: "a",
                overlap: rules.overlap,
                catchUp: rules.catchUp,
                .every(.seconds(rules.interval))
            )
            try context.commit()
        }
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
    }

    private static func open(
        _ rules: FeatureRules,
        _ folder: ScratchFolder,
        _ clock: VirtualClock
    ) async throws -> PipelineHarness {
        try await PipelineHarness.open(
            .sqlite(folder.file("s.sqlite")),
            models: [Stamp.self],
            ordering: rules.ordering,
            max: rules.maxConcurrent,
            maxPerLane: rules.maxPerLane,
            maxGlobally: rules.maxGlobally,
            ratePerLane: rules.ratePerLane,
            laneRates: rules.laneRates,
            retry: RetryPolicy(maxAttempts: rules.maxAttempts, base: .zero),
            backoff: { attempt, error in error is Stop ? Duration.seconds(2 * attempt) : nil },
            onFailure: rules.onFailure,
            clock: clock
        )
    }

    func close() async throws { try await harness.close() }

    // MARK: Steps

    /// Performs a step on both, if possible. Returns the first difference afterwards.
    mutating func step(_ step: FeatureStep) async throws -> String? {
        guard let step = model.possible(step) else { return nil }
        var next = model
        let answer = next.perform(step)
        let cancelled = cancelled(by: step, next).map { ids[$0]! }
        let ends = cancelled.map { id in harness.log.events.count { $0.isEnd(of: id) } }
        // Several ends reach the engine in any order. So nothing starts before the last one.
        if !cancelled.isEmpty { harness.pipeline.suspend() }
        let found = try await perform(step)
        for (id, count) in zip(cancelled, ends) { try await harness.log.waitForEnd(of: id, count: count + 1) }
        await harness.pipeline.waitUntilProcessed()
        if !cancelled.isEmpty {
            harness.pipeline.resume()
            await harness.pipeline.waitUntilProcessed()
        }
        let wanted = next.start().sorted()
        model = next
        if found != answer { return "the answer was '\(found)', not '\(answer)'" }
        let (lines, expected) = (try await read(), model.lines)
        let started = takeStarts().sorted()
        if started != wanted { return "\(started) were started, not \(wanted)" }
        if lines == expected { return nil }
        let (others, missing) = (lines.subtracting(expected).sorted(), expected.subtracting(lines).sorted())
        return "only in the store: \(others), only in the model: \(missing)"
    }

    /// The operations whose handlers a step cancels, without those of a closed pipeline.
    private func cancelled(by step: FeatureStep, _ next: FeatureModel) -> [String] {
        switch step {
        case .end, .reopen: []
        default: model.running.map(\.label).filter { next.queued[$0]?.startedAt == nil }
        }
    }

    private mutating func takeStarts() -> [String] {
        let started = harness.log.started
        defer { seenStarts = started.count }
        return started.dropFirst(seenStarts).map { labels[$0.rawValue] ?? "\($0)" }
    }

    mutating func register(_ id: ObjectID<QueuedOperation>, _ label: String) {
        ids[label] = id
        labels[id.rawValue] = label
    }

    /// Performs a step on the pipeline. Returns the answer of the call.
    private mutating func perform(_ step: FeatureStep) async throws -> String {
        let (stack, clock, known) = (harness.stack, harness.clock, ids)
        let now = clock.now
        switch step {
        case .enqueue(let drafts):
            try await stack.background { context in
                for draft in drafts {
                    let operation = context.enqueue(
                        Named(name: draft.name),
                        in: .work,
                        lane: draft.lane,
                        priority: draft.priority,
                        options: draft.options,
                        tags: draft.tags
                    )
                    try draft.addDependencies(to: operation, known)
                }
                try context.commit()
            }
        case .unique(let draft, let key, let seconds, let policy):
            let (id, isDuplicate) = try await stack.background { context in
                let queued = try context.enqueue(
                    Named(name: draft.name),
                    in: .work,
                    lane: draft.lane,
                    priority: draft.priority,
                    key: key,
                    uniqueFor: .seconds(seconds),
                    onDuplicate: policy
                )
                if !queued.isDuplicate, let operation = queued.operation {
                    try operation.setOptions(draft.options)
                    try operation.addTags(draft.tags)
                    try draft.addDependencies(to: operation, known)
                }
                try context.commit()
                return (queued.id, queued.isDuplicate)
            }
            if !isDuplicate { register(id, draft.name) }
            return "\(labels[id.rawValue] ?? "unknown") \(isDuplicate)"
        case .debounce(let draft, let delay, let maxWait):
            try await stack.background { context in
                try context.enqueue(
                    Named(name: draft.name),
                    in: .work,
                    lane: draft.lane,
                    priority: draft.priority,
                    key: "k",
                    debounce: .seconds(delay),
                    maxWait: .seconds(maxWait)
                )
                try context.commit()
            }
        case .change(let change, let isBulk):
            let count = try await stack.background { context in
                if isBulk { return try change.perform(in: context, at: now) }
                return try change.performSingly(in: context, at: now)
            }
            return "\(count)"
        case .end(let label, let end): try await harness.end(label, id: ids[label]!, end.outcome(for: label))
        case .runSchedule(let label):
            let id = try await stack.background { context in
                let operation = try context.runScheduleNow("tick", at: now)
                try context.commit()
                return operation.id
            }
            register(id, label)
        case .pauseSchedule(let isPaused):
            try await stack.background { context in
                if isPaused {
                    try context.pauseSchedule("tick", by: "ada", at: now)
                } else {
                    try context.resumeSchedule("tick", by: "ada", at: now)
                }
                try context.commit()
            }
        case .set(let setting):
            try await stack.updatePipelineSettings(of: .work, by: "ada") { update in
                switch setting {
                case .isPaused(let isPaused): update.isPaused = isPaused
                case .maxConcurrent(let limit): update.maxConcurrent = limit
                case .rateLimit(let limit): update.rateLimit = limit
                case .reset: update.reset()
                }
            }
        case .pass(let seconds): clock.advance(by: .seconds(seconds))
        case .reopen(let seconds):
            try await harness.close()
            harness = try await Self.open(rules, folder, VirtualClock(now.addingTimeInterval(Double(seconds))))
            seenStarts = 0
            harness.pipeline.resume()
        }
        return ""
    }
}

extension FeatureRules {
    /// The rate limits of single lanes.
    fileprivate var laneRates: [UTF8Text: RateLimit] { if let rateOfB { ["b": rateOfB] } else { [:] } }
}

extension FeatureStep.Draft {
    fileprivate var options: OperationOptions {
        OperationOptions(
            expires: expires.map { .after(.seconds($0)) },
            retry: maxAttempts.map { RetryPolicy(maxAttempts: $0, base: .zero) },
            timeout: timeout.map { .seconds($0) }
        )
    }

    fileprivate func addDependencies(
        to operation: QueuedOperation,
        _ ids: [String: ObjectID<QueuedOperation>]
    ) throws {
        for (label, policy) in prerequisites { try operation.addDependencies([ids[label]!], onFailure: policy) }
    }
}

extension FeatureStep.End {
    fileprivate func outcome(for label: String) throws -> Result<Outcome, any Error> {
        switch self {
        case .done: return .success(.done)
        case .doneWithResult(let value): return .success(try .done(result: value))
        case .doneInBlock(let value):
            let outcome = Outcome.doneWithResult { context in
                context.insert(Stamp(name: label))
                return value
            }
            return .success(outcome)
        case .thrown: return .failure(FeatureHistory.Stop())
        case .failing: return .success(.fail("no"))
        case .retrying: return .success(.retry(after: .seconds(5)))
        case .snoozing: return .success(.snooze(for: .seconds(5)))
        case .skipping: return .success(.skip)
        }
    }
}
