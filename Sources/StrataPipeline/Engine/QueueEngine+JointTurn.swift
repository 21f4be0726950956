import Strata
import Synchronization

extension QueueEngine {
    /// A turn in the same transaction that commits a handler's changes and the end of its operation. So one commit also
    /// covers the next claims.
    ///
    /// If one of the engine's own turns runs, or a caller waits for a moment between two turns, this work is left to
    /// the engine's turns.
    ///
    /// Isolation: used by one block, on this block's thread.
    final class JointTurn: Sendable {
        private enum Phase {
            /// The engine's own turns do the work.
            case none
            /// Other turns are blocked until this one is over.
            case begun(Work)
            /// The work as taken, the work as written, the result, and the number of the engine's commit.
            case written(Work, Work, Done, number: Int64)
        }

        private struct State {
            var phase = Phase.none
            /// Whether the turn has failed. The failure must not fail the handler, so the turn is not tried again.
            var isRefused = false
            /// The result for the operation, if the engine does not have it yet.
            var untold: OperationBook.Report? = .lost
            /// The operations that the changes have skipped or completed.
            var decided: [Int64] = []
        }

        private let engine: QueueEngine
        private let ending: Ending
        private let state = Mutex(State())

        init(_ engine: QueueEngine, _ ending: Ending) { (self.engine, self.ending) = (engine, ending) }

        /// The result for the operation, if the engine does not have it yet.
        var untold: OperationBook.Report? { state.withLock { $0.untold } }

        private var claim: Claim { ending.operation.claim }

        /// Takes the work of the next turn. This happens before the transaction, because it asks constraints, and these
        /// may use the stack.
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

        /// Writes the end of the operation, and the rest of the turn's work.
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

        /// Concludes the turn after the commit, or undoes it.
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

        /// Leaves all work to the engine's own turns.
        ///
        /// - Parameters:
        ///   - isTaken: whether the end of the attempt is among the ends to write. The handler then reports its result
        ///     itself.
        ///   - work: the work that was taken.
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
            // The turn is requested first, so that the executor does not look idle in between.
            engine.scheduleTurn()
            engine.executor.endExclusive()
        }
    }
}
