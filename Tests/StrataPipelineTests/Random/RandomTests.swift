import Foundation
import StoreModels
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

/// Random histories of a pipeline against a reference model: after each step the same operations have been started, in the same
/// order, and the store says of each what the model says.
///
/// `STRATA_PIPELINE_RUNS` says how many, 300 without it and 2,000 where `CI` is set; `STRATA_SEED` which one is the first.
@Suite("6.7 random histories of pipelines") struct RandomTests {
    struct Stop: Error {}

    private static let environment = ProcessInfo.processInfo.environment
    private static let runs =
        environment["STRATA_PIPELINE_RUNS"].flatMap { Int($0) } ?? (environment["CI"] == nil ? 300 : 2000)

    @Test("as the model says", .timeLimit(.minutes(20)))
    func histories() async throws {
        let first = Self.environment["STRATA_SEED"].flatMap { UInt64($0) } ?? .random(in: 0..<1_000_000_000)
        for seed in first..<(first + UInt64(Self.runs)) {
            let failure = try await Self.play(seed)
            if let failure {
                Issue.record("seed \(seed): \(failure)")
                return
            }
        }
    }

    /// Plays a history. Gives what did not agree.
    private static func play(_ seed: UInt64) async throws -> String? {
        var dice = Dice(seed: seed)
        let ordering = PipelineOrdering.allCases.randomElement(using: &dice)!
        let whenFailed = [FailurePolicy.block, .park, .drop].randomElement(using: &dice)!
        let limit = Int.random(in: 1...4, using: &dice)
        let limitPerLane = ordering == .flat ? [nil, 1, 2].randomElement(using: &dice)! : nil
        let network = ManualConstraint(.network, isSatisfied: false)
        let stage = try await Stage.open(
            models: [Letter.self, Folder.self, Stamp.self],
            ordering: ordering,
            max: limit,
            maxPerLane: limitPerLane,
            retry: RetryPolicy(maxAttempts: nil, base: .zero),
            whenFailed: whenFailed,
            constraints: [network]
        )
        var model = ModelQueue(ordering: ordering, whenFailed: whenFailed, limit: limit, perLane: limitPerLane)
        var names = 0
        var letters: Set<String> = []
        /// How many stamps there are: each end with changes brings one with it, and no other one of this name.
        var stamps = 1
        try await stage.stack.background { context in
            context.insert(Stamp(name: "there"))
            try context.commit()
        }
        var trace: [String] = ["\(ordering) \(whenFailed) \(limit) \(limitPerLane ?? 0)"]
        for _ in 0..<25 {
            let running = model.running.map(\.name).sorted().randomElement(using: &dice)
            let idle = model.queued.values.filter { !$0.isRunning }.map(\.name).sorted().randomElement(using: &dice)
            switch Int.random(in: 0..<17, using: &dice) {
            case 0..<4:
                var entries: [(name: String, lane: String, priority: Int, prerequisites: Set<String>)] = []
                for _ in 0..<Int.random(in: 1...3, using: &dice) {
                    names += 1
                    let lane = ["a", "b", "c"].randomElement(using: &dice)!
                    // Some are queued, some are yet to be, this one itself among them. Many of these are rings.
                    let known = model.queued.keys.sorted() + (names..<(names + 3)).map { "op\($0)" }
                    var prerequisites: Set<String> = []
                    while Int.random(in: 0..<3, using: &dice) == 0 {
                        prerequisites.insert(known.randomElement(using: &dice)!)
                    }
                    entries.append(("op\(names)", lane, Int.random(in: 0..<3, using: &dice), prerequisites))
                }
                let withLetters = Set(entries.map(\.name).filter { _ in Bool.random(using: &dice) })
                trace.append("commit \(entries), letters \(withLetters.sorted())")
                let isQueued = model.commit(entries)
                if isQueued { letters.formUnion(withLetters) }
                // Those of one commit are in the order of their ids.
                try stage.reserve((1...(names + 3)).lazy.map { "op\($0)" })
                let lanes = Dictionary(uniqueKeysWithValues: entries.map { ($0.name, $0.lane) })
                do {
                    try await stage.commit(
                        entries.map { entry in
                            var made = Entry(stringLiteral: entry.name)
                            made.priority = entry.priority
                            made.prerequisites = entry.prerequisites.sorted()
                            made.hasLetter = withLetters.contains(entry.name)
                            return made
                        },
                        lane: { lanes[$0]! }
                    )
                    if !isQueued { return "a ring was not refused: \(trace.suffix(40))" }
                } catch let error as PipelineError where error.code == .dependencyCycle && !isQueued {
                    trace.append("refused")
                }
            case 4..<8:
                guard let running else { continue }
                // With changes, in a commit that the next claims share; some of them are refused.
                switch Int.random(in: 0..<4, using: &dice) {
                case 0:
                    trace.append("done \(running) with changes")
                    model.finish(running, .completed)
                    stamps += 1
                    try await stage.end(running, .success(.done { $0.insert(Stamp(name: running)) }))
                case 1:
                    trace.append("done \(running) with changes that fail")
                    model.putBack(running, counting: true, heldFor: 1)
                    let name = Bool.random(using: &dice) ? "there" : nil
                    try await stage.end(
                        running,
                        .success(
                            .done { context in
                                guard let name else { throw Stop() }
                                context.insert(Stamp(name: name))
                            }
                        )
                    )
                default:
                    trace.append("done \(running)")
                    model.finish(running, .completed)
                    try await stage.end(running)
                }
            case 8:
                guard let running else { continue }
                trace.append("throw \(running)")
                model.putBack(running, counting: true, heldFor: 1)
                try await stage.end(running, .failure(Stop()))
            case 9:
                guard let running else { continue }
                switch Int.random(in: 0..<3, using: &dice) {
                case 0:
                    trace.append("wait \(running)")
                    model.putBack(running, counting: false, constrained: true)
                    try await stage.end(running, .success(.wait(.network)))
                case 1:
                    trace.append("fail \(running)")
                    model.fail(running)
                    try await stage.end(running, .success(.fail("no")))
                default:
                    trace.append("retry \(running) in 5")
                    model.putBack(running, counting: true, heldFor: 5)
                    try await stage.end(running, .success(.retry(after: .seconds(5))))
                }
            case 10:
                guard let idle else { continue }
                trace.append("skip \(idle)")
                model.finish(idle, .skipped)
                try await stage.edit(idle) { $0.skip() }
            case 11:
                guard let idle else { continue }
                trace.append("retry \(idle)")
                model.retry(idle)
                try await stage.edit(idle) { $0.retry() }
            case 12:
                guard let idle else { continue }
                let priority = Int.random(in: 0..<5, using: &dice)
                trace.append("priority \(idle) \(priority)")
                model.queued[idle]?.priority = priority
                try await stage.edit(idle) { $0.priority = priority }
            case 13:
                if Bool.random(using: &dice) {
                    trace.append("suspend")
                    model.suspensions += 1
                    stage.pipeline.suspend()
                } else {
                    trace.append("resume")
                    model.suspensions = max(model.suspensions - 1, 0)
                    stage.pipeline.resume()
                }
            case 14:
                let seconds = Int.random(in: 1...6, using: &dice)
                trace.append("pass \(seconds)")
                model.now += seconds
                stage.clock.advance(by: .seconds(seconds))
            case 15:
                guard let name = letters.intersection(model.queued.keys).sorted().randomElement(using: &dice) else {
                    continue
                }
                trace.append("delete the letter of \(name)")
                model.finish(name, .skipped)
                letters.remove(name)
                try await stage.deleteLetter(name)
            default:
                trace.append("network")
                for name in model.queued.keys { model.queued[name]?.isConstrained = false }
                network.set(true)
                await stage.pipeline.settled()
                network.set(false)
            }
            await stage.pipeline.settled()
            let (wanted, started) = (model.start(), stage.takeStarts())
            trace.append("→ \(started)")
            if wanted != started { return "\(started) were started, not \(wanted): \(trace.suffix(40))" }
            let found = try await stage.stack.background { try $0.count(Stamp.all) }
            if found != stamps { return "\(found) stamps, not \(stamps): \(trace.suffix(40))" }
            if let failure = try await compare(model, letters, stage) { return "\(failure): \(trace.suffix(40))" }
        }
        try await stage.close()
        return nil
    }

    private static func compare(_ model: ModelQueue, _ letters: Set<String>, _ stage: Stage) async throws -> String? {
        let (rows, finished, ties) = try await stage.stack.background { context in
            (
                try context.rows(QueuedOperation.all), try context.rows(FinishedOperation.all),
                try context.rows(OperationItem.all)
            )
        }
        let tied = Set(ties.map(\.id.number))
        let wanted = Set(letters.intersection(model.queued.keys).map { stage.id($0).number })
        guard tied == wanted else { return "\(tied) are tied to letters, not \(wanted)" }
        guard rows.count == model.queued.count, finished.count == model.results.count else {
            return "\(rows.count) and \(finished.count) rows, not \(model.queued.count) and \(model.results.count)"
        }
        for (name, operation) in model.queued {
            guard let row = rows.first(where: { $0.id == stage.id(name) }) else { return "\(name) is not queued" }
            let isRunning = row.status == .active
            if isRunning != operation.isRunning { return "\(name) is \(row.status)" }
            if (row.status == .failed) != operation.isFailed { return "\(name) is \(row.status)" }
            if row.awaitsPlace != nil, row.status != .waiting { return "\(name) awaits a place and is \(row.status)" }
            if row.attempts != operation.attempts {
                return "\(name) has \(row.attempts) attempts, not \(operation.attempts)"
            }
        }
        for (name, result) in model.results {
            let id = stage.id(name).number
            guard let row = finished.first(where: { $0.id.number == id }) else { return "\(name) is not finished" }
            if row.result != result { return "\(name) is \(row.result), not \(result)" }
        }
        return nil
    }
}
