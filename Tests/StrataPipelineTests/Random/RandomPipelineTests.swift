import Foundation
import StoreModels
import StrataPipeline
import Synchronization
import Testing

/// Compares random histories of a pipeline with a reference model. After each step, the same operations have started in
/// the same order, and the store agrees with the model about each operation. In the end every operation ends.
///
/// `STRATA_PIPELINE_RUNS` sets the number of histories (300 by default, 600 if `CI` is set), and `STRATA_SEED` the
/// first seed.
@Suite("Random histories of pipelines") struct RandomPipelineTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let runs =
        environment["STRATA_PIPELINE_RUNS"].flatMap { Int($0) } ?? (environment["CI"] == nil ? 300 : 450)
    /// The number of histories played at once.
    private static let lanes = 4

    /// The seeds of the histories to play.
    private final class Seeds: Sendable {
        private let left: Mutex<Range<UInt64>>

        init(_ all: Range<UInt64>) { left = Mutex(all) }

        func next() -> UInt64? { left.withLock { $0.popFirst() } }

        func stop() { left.withLock { $0 = 0..<0 } }
    }

    @Test("A pipeline and its store agree with the model after each step", .timeLimit(.minutes(20)))
    func histories() async throws {
        let first = Dice.seed
        // Printed first, for a history that does not end.
        print("random histories of pipelines, seeds \(first) to \(first + UInt64(Self.runs) - 1)")
        let seeds = Seeds(first..<(first + UInt64(Self.runs)))
        // A history spends most of its time waiting.
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

    /// Plays the history of a seed. Returns the difference, and a short list of actions that shows it.
    private static func history(_ seed: UInt64) async -> String? {
        var dice = Dice(seed: seed)
        let rules = PipelineHistory.Rules(&dice)
        var actions: [PipelineHistory.Action] = []
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

    /// Plays a history and drains it. Returns the first difference.
    private static func play(_ rules: PipelineHistory.Rules, next: (PipelineHistory) -> PipelineHistory.Action?) async
        -> String?
    {
        do {
            var history = try await PipelineHistory(rules)
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

    /// Removes all actions from a history that its failure does not need.
    private static func minimised(
        _ rules: PipelineHistory.Rules,
        _ actions: [PipelineHistory.Action],
        _ failure: String
    ) async -> ([PipelineHistory.Action], String) {
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
