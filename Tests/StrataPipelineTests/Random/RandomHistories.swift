import Foundation
import StoreModels
import Synchronization
import Testing

/// A pipeline and its reference model, to which the same random actions are applied.
protocol RandomHistory {
    /// The configuration of the pipeline.
    associatedtype Rules
    associatedtype Action

    static func drawRules(_ dice: inout Dice) -> Rules
    init(_ rules: Rules) async throws

    /// A random action; nil if the dice pick an object that does not exist.
    func draw(_ dice: inout Dice) -> Action?

    /// Performs an action on both, if possible. Returns the first difference afterwards.
    mutating func step(_ action: Action) async throws -> String?

    /// Ends all operations. Returns the first difference, or the operations that do not end.
    mutating func drain() async throws -> String?

    func close() async throws
}

/// Plays random histories, and shortens one that fails.
///
/// `STRATA_PIPELINE_RUNS` sets the number of histories (150 by default, 225 if `CI` is set), and `STRATA_SEED` the
/// first seed.
enum RandomHistories {
    private static let environment = ProcessInfo.processInfo.environment
    static let runs =
        environment["STRATA_PIPELINE_RUNS"].flatMap { Int($0) } ?? (environment["CI"] == nil ? 150 : 225)
    /// The number of histories played at once.
    private static let lanes = 4

    /// The seeds of the histories to play.
    private final class Seeds: Sendable {
        private let left: Mutex<Range<UInt64>>

        init(_ all: Range<UInt64>) { left = Mutex(all) }

        func next() -> UInt64? { left.withLock { $0.popFirst() } }

        func stop() { left.withLock { $0 = 0..<0 } }
    }

    /// Plays the histories of several seeds, until one fails.
    ///
    /// - Parameters:
    ///   - subject: the subject of the histories, in the plural.
    ///   - history: plays the history of a seed, and returns its failure.
    static func play(
        _ subject: String,
        count: Int,
        _ history: @escaping @Sendable (_ seed: UInt64) async -> String?
    ) async {
        let first = Dice.seed
        // Printed first, for a history that does not end.
        print("random histories of \(subject), seeds \(first) to \(first + UInt64(count) - 1)")
        let seeds = Seeds(first..<(first + UInt64(count)))
        // A history spends most of its time waiting.
        await withTaskGroup { group in
            for _ in 0..<lanes {
                group.addTask {
                    while let seed = seeds.next() {
                        guard let failure = await history(seed) else { continue }
                        seeds.stop()
                        Issue.record("seed \(seed): \(failure)")
                    }
                }
            }
        }
    }

    /// Plays the history of a seed. Returns the difference, and a short list of actions that shows it.
    static func history<History: RandomHistory>(of type: History.Type, _ seed: UInt64) async -> String? {
        var dice = Dice(seed: seed)
        let rules = History.drawRules(&dice)
        var actions: [History.Action] = []
        var left = 40
        let failure = await replay(type, rules) { history in
            while left > 0 {
                left -= 1
                guard let action = history.draw(&dice) else { continue }
                actions.append(action)
                return action
            }
            return nil
        }
        guard let failure else { return nil }
        let (fewer, reason) = await minimised(type, rules, actions, failure)
        return "\(reason), with \(rules), by \(fewer.map { "\n\($0)" }.joined())"
    }

    /// Plays a history and drains it. Returns the first difference.
    private static func replay<History: RandomHistory>(
        _: History.Type,
        _ rules: History.Rules,
        next: (History) -> History.Action?
    ) async -> String? {
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

    /// Removes all actions from a history that its failure does not need.
    private static func minimised<History: RandomHistory>(
        _ type: History.Type,
        _ rules: History.Rules,
        _ actions: [History.Action],
        _ failure: String
    ) async -> ([History.Action], String) {
        var (actions, failure, place) = (actions, failure, 0)
        while place < actions.count {
            var fewer = actions
            fewer.remove(at: place)
            var rest = fewer[...]
            if let other = await replay(type, rules, next: { _ in rest.popFirst() }) {
                (actions, failure) = (fewer, other)
            } else {
                place += 1
            }
        }
        return (actions, failure)
    }
}
