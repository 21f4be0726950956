import Strata
import Synchronization

extension QueueEngine {
    /// A turn that is taken in the transaction in which a handler's changes are committed with the end of its operation: one commit does for
    /// these and for what is claimed next.
    ///
    /// It is left to the engine's own turns where one of those is under way, or somebody waits for a moment between two.
    ///
    /// Isolation: used by one block, on the thread of that.
    final class JointTurn: Sendable {
        private enum Phase {
            /// The engine's own turns do it.
            case none
            /// No other turn is taken until it is over.
            case begun(Work)
            /// What it was to do, what that has become, and the number of the engine's commit.
            case written(Work, Work, Done, number: Int64)
        }

        private struct State {
            var phase = Phase.none
            /// Whether it has failed, which is not to be the handler's failure: then it is not tried again.
            var isRefused = false
            /// What has become of the operation, where the engine does not know that yet.
            var untold: OperationBook.Report? = .lost
            /// The operations that the changes have left out, or taken as done.
            var decided: [Int64] = []
        }

        private let engine: QueueEngine
        private let ending: Ending
        private let state = Mutex(State())

        init(_ engine: QueueEngine, _ ending: Ending) { (self.engine, self.ending) = (engine, ending) }

        /// What has become of the operation, where the engine does not know that yet.
        var untold: OperationBook.Report? { state.withLock { $0.untold } }

        private var claim: Claim { ending.operation.claim }

        /// Takes what the next turn is to do. Before the transaction, since constraints are asked, which may use the stack.
        func begin() {
            guard !state.withLock({ $0.isRefused }), engine.state.withLock({ $0.isOpen(claim) }),
                engine.executor.beginExclusive()
            else { return }
            let isTaken = engine.state.withLock { state in
                guard state.isOpen(claim) else { return false }
                state.running[claim.operation]!.isEnding = true
                state.ended.append(ending)
                return true
            }
            if isTaken, let work = engine.takeWork(engine.clock.now) {
                state.withLock { $0.phase = .begun(work) }
            } else {
                leave(isTaken: isTaken)
            }
        }

        /// Writes the end of the operation, and what else the turn is to do.
        ///
        /// - Parameter end: writes the end.
        func write(
            _ transaction: StoreTransaction,
            _ end: (OperationBook) throws -> OperationBook.Report
        ) throws {
            let work: Work? = state.withLock { if case .begun(let work) = $0.phase { work } else { nil } }
            let consumers = work?.consumers ?? engine.state.withLock { $0.consumers }
            let decided = try transaction.inserted(of: FinishedOperation.self)
            let book = OperationBook(
                transaction,
                now: work?.now ?? engine.clock.now,
                QueueEngine.rules(of: consumers.values)
            )
            let isUnchanged = try book.remember(work?.sighting)
            let report = try end(book)
            state.withLock { ($0.untold, $0.decided) = (report, decided) }
            guard let work else { return }
            var whole = work
            whole.decided += decided
            let place = whole.ended.firstIndex { $0.operation.claim == claim }!
            whole.ended[place].written = report
            var done = Done()
            do {
                try engine.write(whole, book, isUnchanged: isUnchanged, &done)
            } catch {
                state.withLock { $0.isRefused = true }
                throw StaleReads()
            }
            engine.state.withLock { _ = $0.ownCommits.insert(transaction.number) }
            state.withLock { $0.phase = .written(work, whole, done, number: transaction.number) }
        }

        /// Goes on behind the commit.
        func end(_ isCommitted: Bool) {
            let (phase, decided) = state.withLock { state in
                defer { state.phase = .none }
                return (state.phase, state.decided)
            }
            if isCommitted, case .written(_, let work, let done, _) = phase {
                engine.conclude(work, done)
                engine.executor.endExclusive()
                return state.withLock { $0.untold = nil }
            }
            if isCommitted, !decided.isEmpty { engine.state.withLock { $0.decided += decided } }
            switch phase {
            case .none: break
            case .begun(let work): leave(isTaken: true, work)
            case .written(let work, _, _, let number):
                engine.state.withLock { state in
                    state.ownCommits.remove(number)
                    state.isNews = true
                }
                leave(isTaken: true, work)
            }
        }

        /// Leaves everything to the engine's own turns.
        ///
        /// - Parameters:
        ///   - isTaken: whether the end of the attempt is among what ends. The handler says itself what has come of it.
        ///   - work: what was taken.
        private func leave(isTaken: Bool, _ work: Work? = nil) {
            if let work { engine.putBack(work) }
            if isTaken {
                engine.state.withLock { state in
                    state.ended.removeAll { $0.operation.claim == claim }
                    if state.running[claim.operation]?.claim == claim {
                        state.running[claim.operation]!.isEnding = false
                    }
                }
            }
            // First, so that nobody takes it for settled in between.
            engine.scheduleTurn()
            engine.executor.endExclusive()
        }
    }
}
