import Foundation
import StoreModels
import Strata
import StrataTesting

@testable import StrataPipeline

/// A pipeline and its reference model, to which the same actions are applied.
struct PipelineHistory: RandomHistory {
    struct Stop: Error {}

    /// The configuration of the pipeline and its location.
    struct Rules {
        let ordering: PipelineOrdering
        let onFailure: FailurePolicy
        let limit: Int
        let limitPerLane: Int?
        let maxCrashes: Int
        /// A store in memory cannot be opened again.
        let isOnFile: Bool

        init(_ dice: inout Dice) {
            ordering = dice.pick(PipelineOrdering.allCases)!
            onFailure = dice.pick([.blockLane, .setAside, .discard])!
            limit = dice.number(1..<5)
            limitPerLane = ordering == .flat ? dice.pick([nil, 1, 2])! : nil
            maxCrashes = dice.number(2..<4)
            isOnFile = dice.chance(50)
        }
    }

    /// An operation to enqueue.
    struct Draft {
        let name: String
        let lane: String
        let priority: Int
        let prerequisites: Set<String>
        let hasLetter: Bool
    }

    /// The result of a handler.
    enum End {
        case done, thrown, waiting, failing, retrying
        case doneWithChanges
        /// The block itself refuses the changes, or the store does.
        case doneInVain(byBlock: Bool)
    }

    enum Action {
        case commit([Draft])
        case end(String, End)
        case decide(String, OperationRequest)
        case prioritise(String, Int)
        case hold(String, name: String, seconds: Int)
        case release(String, name: String)
        case deleteLetter(String)
        case suspend, resume, network
        case pass(Int)
        /// A process elsewhere claims this number of operations and ends before they do.
        case crashElsewhere(Int)
        /// The process ends, and the remaining store is opened again.
        case crash
        /// Everything is closed and opened again.
        case reopen
    }

    let rules: Rules
    private(set) var model: QueueModel
    private(set) var lastName = 0
    private(set) var harness: PipelineHarness
    private(set) var letters: Set<String> = []
    /// The number of stamps: each end with changes inserts exactly one, with a name that no other stamp has.
    private(set) var stamps = 1
    private let network = ManualConstraint(.network, isSatisfied: false)
    let start: Date
    private let folder: ScratchFolder?

    static let maximumNames = 150

    static func drawRules(_ dice: inout Dice) -> Rules { Rules(&dice) }

    init(_ rules: Rules) async throws {
        self.rules = rules
        model = QueueModel(rules)
        folder = rules.isOnFile ? try ScratchFolder() : nil
        harness = try await Self.open(rules, folder, network, VirtualClock())
        start = harness.clock.now
        // Operations of one commit are in the order of their ids.
        try harness.reserve((1...Self.maximumNames).lazy.map { "op\($0)" })
        try await harness.stack.background { context in
            context.insert(Stamp(name: "there"))
            try context.commit()
        }
    }

    private static func open(
        _ rules: Rules,
        _ folder: ScratchFolder?,
        _ network: ManualConstraint,
        _ clock: VirtualClock
    ) async throws -> PipelineHarness {
        try await PipelineHarness.open(
            folder.map { .sqlite($0.file("s.sqlite")) } ?? .inMemory,
            models: [Letter.self, Folder.self, Stamp.self],
            ordering: rules.ordering,
            max: rules.limit,
            maxPerLane: rules.limitPerLane,
            retry: RetryPolicy(maxAttempts: nil, base: .zero),
            onFailure: rules.onFailure,
            maxCrashes: rules.maxCrashes,
            constraints: [network],
            clock: clock
        )
    }

    func close() async throws { try await harness.close() }

    // MARK: Steps

    /// Performs an action on both, if possible. Returns the first difference afterwards.
    mutating func step(_ action: Action) async throws -> String? {
        guard try await perform(action) else { return "what happened is not what was to happen" }
        await harness.pipeline.waitUntilProcessed()
        let (wanted, started) = (model.start(), harness.takeStarts())
        if wanted != started { return "\(started) were started, not \(wanted)" }
        return try await difference()
    }

    private mutating func perform(_ action: Action) async throws -> Bool {
        switch action {
        case .commit(let drafts): return try await commit(drafts)
        case .end(let name, let end): try await finish(name, end)
        case .decide(let name, let request): try await decide(name, request)
        case .prioritise(let name, let priority):
            guard model.queued[name] != nil else { break }
            model.queued[name]!.priority = priority
            try await harness.edit(name) { $0.priority = priority }
        case .hold(let name, let hold, let seconds):
            guard model.queued[name] != nil else { break }
            model.hold(name, hold, for: seconds)
            let date = harness.clock.now.addingTimeInterval(Double(seconds))
            try await harness.edit(name) { try $0.hold(hold, until: date) }
        case .release(let name, let hold):
            guard model.queued[name] != nil else { break }
            model.queued[name]!.holds[hold] = nil
            try await harness.edit(name) { try $0.release(hold) }
        case .deleteLetter(let name):
            guard model.queued[name] != nil, letters.remove(name) != nil else { break }
            model.finish(name, .skipped)
            try await harness.deleteLetter(name)
        case .suspend:
            model.suspensions += 1
            harness.pipeline.suspend()
        case .resume:
            model.suspensions = max(model.suspensions - 1, 0)
            harness.pipeline.resume()
        case .network:
            for name in model.queued.keys { model.queued[name]!.isConstrained = false }
            network.set(true)
            await harness.pipeline.waitUntilProcessed()
            network.set(false)
        case .pass(let seconds):
            model.pass(seconds)
            harness.clock.advance(by: .seconds(seconds))
        case .crashElsewhere(let count):
            let claimed = model.claim(count)
            model.crash(claimed)
            return try harness.crashElsewhere(claiming: count, repositoryRules) == claimed
        case .crash:
            model.crash(model.running.map(\.name))
            // The worker sends no more heartbeats.
            harness.pipeline.handle.engine.abandon()
            let former = harness
            try await openAgain()
            try await former.close()
        case .reopen:
            for name in model.running.map(\.name) { model.requeue(name, counting: false) }
            try await harness.close()
            try await openAgain()
        }
        return true
    }

    private var repositoryRules: OperationRepository.Rules {
        OperationRepository.Rules(
            ordering: rules.ordering,
            onFailure: rules.onFailure,
            maxCrashes: rules.maxCrashes,
            laneLimit: rules.limitPerLane
        )
    }

    private mutating func openAgain() async throws {
        model.suspensions = 1
        let former = harness
        harness = try await Self.open(rules, folder, network, VirtualClock(former.clock.now))
        harness.learn(from: former)
    }

    /// - Returns: true if the pipeline and the model agree on whether a cycle refuses the commit.
    private mutating func commit(_ drafts: [Draft]) async throws -> Bool {
        lastName += drafts.count
        let isQueued = model.commit(drafts)
        if isQueued { letters.formUnion(drafts.filter(\.hasLetter).map(\.name)) }
        let entries = drafts.map { draft in
            var entry = Entry(stringLiteral: draft.name)
            entry.priority = draft.priority
            entry.prerequisites = draft.prerequisites.sorted()
            entry.hasLetter = draft.hasLetter
            return entry
        }
        let lanes = Dictionary(uniqueKeysWithValues: drafts.map { ($0.name, $0.lane) })
        do {
            try await harness.commit(entries) { lanes[$0]! }
        } catch let error as PipelineError where error.code == .dependencyCycle {
            return !isQueued
        }
        return isQueued
    }

    private mutating func finish(_ name: String, _ end: End) async throws {
        guard model.queued[name]?.isRunning == true else { return }
        switch end {
        case .done:
            model.finish(name, .completed)
            try await harness.end(name)
        case .doneWithChanges:
            // The end is in a commit that the next claims share.
            model.finish(name, .completed)
            stamps += 1
            try await harness.end(name, .success(.done { $0.insert(Stamp(name: name)) }))
        case .doneInVain(let isBlock):
            model.requeue(name, counting: true, heldFor: 1)
            model.queued[name]!.failures += 1
            let changes: @Sendable (ObjectContext) throws -> Void = { context in
                if isBlock { throw Stop() }
                context.insert(Stamp(name: "there"))
            }
            try await harness.end(name, .success(.done(changes)))
        case .thrown:
            model.requeue(name, counting: true, heldFor: 1)
            model.queued[name]!.failures += 1
            try await harness.end(name, .failure(Stop()))
        case .waiting:
            model.requeue(name, counting: false)
            model.queued[name]!.isConstrained = true
            try await harness.end(name, .success(.wait(.network)))
        case .failing:
            model.fail(name)
            try await harness.end(name, .success(.fail("no")))
        case .retrying:
            model.requeue(name, counting: true, heldFor: 5)
            try await harness.end(name, .success(.retry(after: .seconds(5))))
        }
    }

    private mutating func decide(_ name: String, _ request: OperationRequest) async throws {
        guard let isRunning = model.queued[name]?.isRunning else { return }
        switch request {
        case .skip: model.finish(name, .skipped)
        case .complete: model.finish(name, .completed)
        case .retry: model.retry(name)
        }
        let ends = harness.ends(of: name)
        try await harness.edit(name) { operation in
            switch request {
            case .skip: operation.skip()
            case .complete: operation.complete()
            case .retry: operation.retry()
            }
        }
        // The engine cancels the handler first.
        if isRunning { try await harness.log.waitForEnd(of: harness.id(name), count: ends + 1) }
    }
}
