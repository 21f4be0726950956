import Foundation
import StoreModels
import Strata
import StrataTesting
import Synchronization
import Testing

@testable import StrataPipeline

/// The single actions are the model of the bulk actions. Two stores get the same random queue. One gets bulk actions,
/// and the other gets the same actions one by one. After each action and at the end of all operations, the stores must
/// be equal.
///
/// One twentieth of the histories of ``RandomHistories/runs``, and at most 20, are played with each ordering. `STRATA_SEED` repeats a run.
@Suite("Bulk actions and single actions", .timeLimit(.minutes(5))) struct BulkModelTests {
    private static let runs = min(20, max(1, RandomHistories.runs / 20))

    @Test("A bulk action changes a random queue as the single actions do", arguments: PipelineOrdering.allCases)
    func histories(_ ordering: PipelineOrdering) async throws {
        let first = Dice.seed
        print("bulk actions, \(ordering), STRATA_SEED=\(first)")
        for seed in first..<(first + UInt64(Self.runs)) {
            let history = BulkHistory(seed: seed, ordering)
            let singly = try await history.play(isBulk: false)
            let bulk = try await history.play(isBulk: true)
            guard let place = singly.indices.first(where: { singly[$0] != bulk[$0] }) else { continue }
            let (expected, found) = (Set(singly[place]), Set(bulk[place]))
            let step = place < history.steps.count ? "\(history.steps[place])" : "the end"
            Issue.record(
                """
                STRATA_SEED=\(seed), \(ordering), after \(step):
                only singly: \(expected.subtracting(found).sorted())
                only in bulk: \(found.subtracting(expected).sorted())
                """
            )
            return
        }
    }
}

/// A random queue, and actions on it.
private struct BulkHistory: Sendable {
    struct Item: Sendable {
        let commit: Int
        let lane: String
        let priority: Int
        let tags: [String]
        /// The earlier operations that this one is tied to: it depends on them, or in `lifo` they depend on it.
        let ties: [(other: Int, policy: DependencyPolicy)]
        let impliedTies: [Int]
        let isHeld: Bool
    }

    let ordering: PipelineOrdering
    let onFailure: FailurePolicy
    let maxPerLane: Int?
    let items: [Item]
    let steps: [BulkStep]

    init(seed: UInt64, _ ordering: PipelineOrdering) {
        var dice = Dice(seed: seed)
        self.ordering = ordering
        onFailure = dice.chance(50) ? .blockLane : .setAside
        maxPerLane = ordering == .flat && dice.chance(50) ? 1 : nil
        items = (0..<dice.number(6..<22)).map { number in Self.item(number, &dice) }
        steps = (0..<dice.number(1..<6)).map { _ in Self.step(&dice) }
    }

    private static func item(_ number: Int, _ dice: inout Dice) -> Item {
        let others = (0..<number).filter { _ in dice.chance(12) }
        return Item(
            commit: number / 4,
            lane: ["a", "b", "c"][dice.number(0..<3)],
            priority: dice.number(0..<3),
            tags: BulkStep.tags.filter { _ in dice.chance(40) },
            ties: others.map { ($0, DependencyPolicy.allCases[dice.number(0..<3)]) },
            impliedTies: (0..<number).filter { _ in dice.chance(10) },
            isHeld: dice.chance(10)
        )
    }

    private static func step(_ dice: inout Dice) -> BulkStep {
        let filter: BulkStep.Filter =
            switch dice.number(0..<5) {
            case 0: .lane(["a", "b", "c"][dice.number(0..<3)])
            case 1: .atLeast(dice.number(1..<3))
            case 2: .failed
            default: .tag(BulkStep.tags[dice.number(0..<3)])
            }
        switch dice.number(0..<8) {
        case 0, 1: return BulkStep(action: .retry, filter: dice.chance(50) ? .all : filter)
        case 2, 3: return BulkStep(action: .skip(.leave), filter: filter)
        case 4: return BulkStep(action: .hold(seconds: 60 * dice.number(1..<100)), filter: filter)
        case 5: return BulkStep(action: .release("audit"), filter: filter)
        case 6: return BulkStep(action: .release("retry"), filter: .all)
        default: return BulkStep(action: .priority(dice.number(0..<5)), filter: filter)
        }
    }

    /// What handlers share with the test.
    private final class Shop: Sendable {
        let isMended = Mutex(false)
        let starts = Mutex<[String]>([])
    }

    /// Plays the history in a new store. Returns the content of the store after each action and at the end.
    func play(isBulk: Bool) async throws -> [[String]] {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let (clock, shop) = (VirtualClock(), Shop())
        let start = clock.now
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(
                ordering: ordering,
                maxConcurrent: 1,
                maxConcurrentPerLane: maxPerLane,
                onFailure: onFailure,
                recordsTransitions: true,
                isSuspended: true,
                clock: clock
            )
        ) { (attempt: Attempt<Named>) in
            shop.starts.withLock { $0.append(attempt.payload.name) }
            if shop.isMended.withLock({ $0 }) { return .done }
            switch Int(attempt.payload.name)! % 4 {
            case 0, 1: return .fail("not mended yet")
            case 2: return .snooze(for: .seconds(3600))
            default: return .done
            }
        }
        await pipeline.waitUntilProcessed()
        try await queue(in: stack, at: start)
        pipeline.resume()
        try await pipeline.waitUntilIdle()
        pipeline.suspend()
        await pipeline.waitUntilProcessed()
        var contents: [[String]] = []
        for step in steps {
            let count = try await stack.background { context in
                if isBulk { return try step.perform(in: context, at: start) }
                return try step.performSingly(in: context, at: start)
            }
            await pipeline.waitUntilProcessed()
            contents.append(try await Self.content(of: stack, start) + ["count \(count)"])
        }
        shop.isMended.withLock { $0 = true }
        clock.advance(by: .seconds(36_000))
        await pipeline.waitUntilProcessed()
        pipeline.resume()
        try await pipeline.waitUntilIdle()
        let starts = shop.starts.withLock { $0 }
        contents.append(try await Self.content(of: stack, start) + ["started \(starts)"])
        try await stack.close()
        return contents
    }

    private func queue(in stack: ContextStack, at start: Date) async throws {
        let ids = try items.map { _ in try stack.newID(for: QueuedOperation.self) }
        for commit in 0...items.last!.commit {
            try await stack.background { context in
                for (number, item) in items.enumerated() where item.commit == commit {
                    let operation = try #require(
                        try context.enqueue(
                            Named(name: "\(number)"),
                            as: ids[number],
                            in: .work,
                            lane: item.lane,
                            priority: item.priority
                        )
                    )
                    try operation.addTags(item.tags)
                    if item.isHeld { try operation.hold("audit", until: start.addingTimeInterval(1800)) }
                    for (other, policy) in item.ties {
                        // In `lifo`, later operations of a lane run first. The other direction would be a cycle.
                        if ordering == .lifo {
                            try context.find(ids[other])?.addDependencies([ids[number]], onFailure: policy)
                        } else {
                            try operation.addDependencies([ids[other]], onFailure: policy)
                        }
                    }
                }
                try context.commit()
            }
        }
        try stack.transact(author: "test") { transaction in
            for (number, item) in items.enumerated() {
                for other in item.impliedTies {
                    let pair = ordering == .lifo ? (number, other) : (other, number)
                    try CommitConsequences.addDependencies(
                        [ids[pair.0].rawValue],
                        to: ids[pair.1].rawValue,
                        in: transaction
                    )
                }
            }
        }
    }

    /// Everything that the store knows of the operations, by their names. An operation that is not failed may be
    /// pending, waiting or held: the engine finds out when it looks at the operation.
    private static func content(of stack: ContextStack, _ start: Date) async throws -> [String] {
        try await stack.background { context in
            let operations = try context.fetch(QueuedOperation.all)
            let finished = try context.fetch(FinishedOperation.all)
            var names: [Int64: String] = [:]
            for operation in operations {
                names[operation.id.rawValue] = try operation.payload(as: Named.self).name
            }
            for operation in finished { names[operation.id.rawValue] = try operation.payload(as: Named.self).name }
            func name(_ number: Int64) -> String { names[number] ?? "unknown" }
            var lines: [String] = []
            for operation in operations {
                let isQueued = operation.status != .failed && operation.status != .active
                let status = isQueued ? "queued" : operation.status.description
                let (tags, failures) = (try operation.tags(), operation.failures.list.count)
                let request = operation.request == nil ? "" : "with a request"
                lines.append(
                    "\(name(operation.id.rawValue)) \(status) \(operation.priority) \(operation.attempts) "
                        + "\(failures) \(operation.constraint ?? "-") \(tags) \(request) \(operation.edits) edits"
                )
            }
            for operation in finished {
                let tags = try operation.tags()
                lines.append("\(name(operation.id.rawValue)) \(operation.result) \(operation.attempts) \(tags)")
            }
            for hold in try context.fetch(OperationHold.all) {
                lines.append("\(name(hold.operation)) \(hold.name) \(hold.until.timeIntervalSince(start).rounded())")
            }
            for dependency in try context.fetch(OperationDependency.all) {
                lines.append(
                    "\(name(dependency.dependant))←\(name(dependency.prerequisite)) \(dependency.whenFailed) "
                        + "\(dependency.isImplied)"
                )
            }
            for transition in try context.fetch(OperationTransition.all)
            where !["pending", "waiting", "held"].contains(transition.status) {
                lines.append("\(name(transition.operation)) became \(transition.status)")
            }
            return lines.sorted()
        }
    }
}
