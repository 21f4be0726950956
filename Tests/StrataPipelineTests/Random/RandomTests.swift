import Foundation
import StoreModels
import StrataPipeline
import Synchronization
import Testing

/// Random histories of a pipeline against a reference model: after each step the same operations have been started, in the same
/// order, and the store says of each what the model says; and at last everything ends.
///
/// `STRATA_PIPELINE_RUNS` says how many, 300 without it and 2,000 where `CI` is set; `STRATA_SEED` which one is the first.
@Suite("6.7 random histories of pipelines") struct RandomTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let runs =
        environment["STRATA_PIPELINE_RUNS"].flatMap { Int($0) } ?? (environment["CI"] == nil ? 300 : 2000)
    /// How many are played at once.
    private static let lanes = 4

    /// Those whose histories are to be played.
    private final class Seeds: Sendable {
        private let left: Mutex<Range<UInt64>>

        init(_ all: Range<UInt64>) { left = Mutex(all) }

        func next() -> UInt64? { left.withLock { $0.popFirst() } }

        func stop() { left.withLock { $0 = 0..<0 } }
    }

    @Test("as the model says", .timeLimit(.minutes(20)))
    func histories() async throws {
        let first = Self.environment["STRATA_SEED"].flatMap { UInt64($0) } ?? .random(in: 0..<1_000_000_000)
        // Said first, for the history that does not come to an end.
        print("random histories of pipelines, seeds \(first) to \(first + UInt64(Self.runs) - 1)")
        let seeds = Seeds(first..<(first + UInt64(Self.runs)))
        // Most of the time of one goes by in waiting.
        await withTaskGroup { group in
            for _ in 0..<Self.lanes {
                group.addTask {
                    while let seed = seeds.next() {
                        guard let failure = await Self.history(seed) else { continue }
                        seeds.stop()
                        Issue.record("seed \(seed): \(failure)")
                    }
                }
            }
        }
    }

    /// Plays the history of a seed. Gives what did not agree, and by what little.
    private static func history(_ seed: UInt64) async -> String? {
        var dice = Dice(seed: seed)
        let rules = History.Rules(&dice)
        var actions: [History.Action] = []
        var left = 40
        let failure = await play(rules) { history in
            while left > 0 {
                left -= 1
                guard let action = history.draw(&dice) else { continue }
                actions.append(action)
                return action
            }
            return nil
        }
        guard let failure else { return nil }
        let (fewer, reason) = await minimised(rules, actions, failure)
        return "\(reason), with \(rules), by \(fewer.map { "\n\($0)" }.joined())"
    }

    /// Plays a history, and drains it. Gives what did not agree.
    private static func play(_ rules: History.Rules, next: (History) -> History.Action?) async -> String? {
        do {
            var history = try await History(rules)
            while let action = next(history) {
                if let failure = try await history.step(action) { return failure }
            }
            if let failure = try await history.drain() { return failure }
            try await history.close()
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// Leaves out of a history whatever it fails without.
    private static func minimised(
        _ rules: History.Rules,
        _ actions: [History.Action],
        _ failure: String
    ) async -> ([History.Action], String) {
        var (actions, failure, place) = (actions, failure, 0)
        while place < actions.count {
            var fewer = actions
            fewer.remove(at: place)
            var rest = fewer[...]
            if let other = await play(rules, next: { _ in rest.popFirst() }) {
                (actions, failure) = (fewer, other)
            } else {
                place += 1
            }
        }
        return (actions, failure)
    }
}
