public import Foundation
import Strata
import Synchronization

/// Faults that a test injects into the calls of a ``FileHome``. The test may change them at any time.
///
/// Isolation: any.
public final class HomeFaults: Sendable {
    /// A call that may be delayed or refused. `publish` is `publishIfNewest` too. `unlock`, `listen` and `close` never
    /// fail.
    public enum Call: String, Sendable, Hashable, CaseIterable {
        case open, create, migrate, copy, transactions, newest, lock, publish, outcome, reserveIDs, report, nodes
    }

    /// Whether a transaction is stored although the answer of `publish` is lost.
    public enum LostAnswer: Sendable, Hashable {
        case stored, notStored
    }

    /// A step before which the process can end.
    public enum Step: String, Sendable, Hashable, CaseIterable {
        /// The node has the lock, and the transaction is not stored.
        case beforePublish
        /// The transaction is stored, and the node has no answer.
        case afterPublish
        /// The node has the lock and has migrated its copy, and the home has nothing yet.
        case beforeMigrate
        /// The home has the new tables and rows, and the transaction is open.
        case duringMigrate
        /// The home is migrated, and the copy of the node is not.
        case afterMigrate
        /// All rows are written, and the transaction that creates the store is open.
        case duringCreate
        /// The store is created, and the node has no answer.
        case afterCreate
    }

    private struct State {
        var delays: [Call: TimeInterval] = [:]
        var refusals: [Call: Int] = [:]
        var lostAnswers: [LostAnswer] = []
        var lastStep: Step?
        var clockOffset: TimeInterval = 0
        var held: Set<Call> = []
        var heldCount = 0
        var counts: [Call: Int] = [:]
    }

    private let state = Mutex(State())

    public init() {}

    /// Makes each of these calls wait before it begins. A delayed `publish` holds the lock for longer.
    ///
    /// - Parameter seconds: 0 ends the delays.
    public func delay(_ calls: Call..., by seconds: TimeInterval) {
        state.withLock { state in
            for call in calls { state.delays[call] = seconds }
        }
    }

    /// Makes each of these calls throw `unreachable` the next times.
    ///
    /// - Parameter times: 0 ends the refusals.
    public func refuse(_ calls: Call..., times: Int = 1) {
        state.withLock { state in
            for call in calls { state.refusals[call] = times }
        }
    }

    /// Makes each of these calls wait until ``releaseCalls()``.
    public func hold(_ calls: Call...) { state.withLock { $0.held.formUnion(calls) } }

    /// Ends the effect of ``hold(_:)``.
    public func releaseCalls() { state.withLock { $0.held = [] } }

    /// The number of calls that wait for ``releaseCalls()``.
    public var heldCount: Int { state.withLock { $0.heldCount } }

    /// Makes all calls throw `unreachable`, or lets all calls succeed again.
    public func setUnreachable(_ isUnreachable: Bool) {
        state.withLock { state in
            for call in Call.allCases { state.refusals[call] = isUnreachable ? .max : 0 }
        }
    }

    /// How often a call has begun, also if it was refused.
    public func count(of call: Call) -> Int { state.withLock { $0.counts[call] ?? 0 } }

    /// Makes the next `publish` throw `uncertain`. Several calls of this function concern as many publishes, in their
    /// order.
    public func loseAnswer(_ answer: LostAnswer) { state.withLock { $0.lostAnswers.append(answer) } }

    /// Ends this process by SIGKILL at its next `publish`, `create` or `migrate`.
    public func endProcess(at step: Step) { state.withLock { $0.lastStep = step } }

    /// Makes the clock of the home differ from that of this machine.
    ///
    /// - Parameter seconds: positive if the clock of the home is ahead; 0 for the clock of this machine.
    public func setClock(aheadBy seconds: TimeInterval) { state.withLock { $0.clockOffset = seconds } }

    /// The time by the clock of the home.
    var time: Date { Date(timeIntervalSinceNow: state.withLock { $0.clockOffset }) }

    /// Waits for the delay of a call, and while it is held.
    ///
    /// - Throws: `unreachable` if the call is refused.
    func begin(_ call: Call) throws {
        let delay = state.withLock { $0.delays[call] ?? 0 }
        if delay > 0 { Thread.sleep(forTimeInterval: delay) }
        waitWhileHeld(call)
        let isRefused = state.withLock { state in
            state.counts[call, default: 0] += 1
            guard let count = state.refusals[call], count > 0 else { return false }
            state.refusals[call] = count - 1
            return true
        }
        if isRefused { throw StrataError(.unreachable, "The test refuses \(call.rawValue).") }
    }

    private func waitWhileHeld(_ call: Call) {
        guard state.withLock({ $0.held.contains(call) }) else { return }
        state.withLock { $0.heldCount += 1 }
        while state.withLock({ $0.held.contains(call) }) { Thread.sleep(forTimeInterval: 0.001) }
        state.withLock { $0.heldCount -= 1 }
    }

    func nextLostAnswer() -> LostAnswer? {
        state.withLock { $0.lostAnswers.isEmpty ? nil : $0.lostAnswers.removeFirst() }
    }

    func reach(_ step: Step) {
        if state.withLock({ $0.lastStep == step }) { kill(getpid(), SIGKILL) }
    }
}
