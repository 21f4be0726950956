import Strata
import Synchronization

extension QueueEngine {
    /// A pass in the same transaction that commits a handler's changes and the end of its operation. So one commit also
    /// covers the next claims.
    ///
    /// If one of the engine's own passes runs, or a caller waits for a moment between two passes, this work is left to
    /// the engine's passes.
    ///
    /// Isolation: used by one block, by one thread at a time.
    final class JointPass: Sendable {
        private enum Phase {
            /// The engine's own passes do the work.
            case none
            /// Other passes are blocked until this one is over.
            case begun(PassInput)
            /// The work, the result, and the number of the engine's commit.
            case written(PassInput, PassResult, number: Int64)
        }

        private struct State {
            var phase = Phase.none
            /// Whether the pass has failed. The failure must not fail the handler, so the pass is not tried again.
            var isRefused = false
            /// The result for the operation, if the engine does not have it yet.
            var unreported: OperationRepository.Report? = .lost
            /// The operations that the changes have skipped or completed.
            var decided: [Int64] = []
        }

        private let engine: QueueEngine
        private let attemptEnd: AttemptEnd
        private let state = Mutex(State())

        init(_ engine: QueueEngine, _ attemptEnd: AttemptEnd) { (self.engine, self.attemptEnd) = (engine, attemptEnd) }

        /// The result for the operation, if the engine does not have it yet.
        var unreported: OperationRepository.Report? { state.withLock { $0.unreported } }

        private var claim: Claim { attemptEnd.operation.claim }

        /// Takes the work of the next pass. This happens before the transaction, because it asks constraints, and these
        /// may use the stack. The handler's block may still fail.
        func begin() {
            guard !state.withLock({ $0.isRefused }), engine.state.withLock({ $0.isOpen(claim) }),
                engine.executor.beginExclusive()
            else { return }
            let isTaken = engine.state.withLock { state in
                guard state.isOpen(claim) else { return false }
                state.running[claim.operation]!.isEnding = true
                state.work.ended.append(attemptEnd)
                return true
            }
            if isTaken, let input = engine.collectInput() {
                state.withLock { $0.phase = .begun(input) }
            } else {
                leaveToEngine(isTaken: isTaken)
            }
        }

        /// Writes the end of the operation, and the rest of the pass's work.
        ///
        /// - Parameter end: writes the end.
        func write(
            _ transaction: StoreTransaction,
            _ end: (OperationRepository) throws -> OperationRepository.Report
        ) throws {
            let input: PassInput? = state.withLock { if case .begun(let input) = $0.phase { input } else { nil } }
            let rules = input?.rules ?? engine.state.withLock { $0.registry.rules }
            let decided = try transaction.inserted(of: FinishedOperation.self)
            let repository = OperationRepository(transaction, now: input?.now ?? engine.clock.now, rules)
            let isUnchanged = try repository.adopt(input?.memory.cachedFacts)
            let report = try end(repository)
            state.withLock { ($0.unreported, $0.decided) = (report, decided) }
            guard let input else { return }
            // If the commit fails, this end and these decisions are undone with the handler's changes.
            var whole = input
            whole.work.decided += decided
            let index = whole.work.ended.firstIndex { $0.operation.claim == claim }!
            whole.work.ended[index].written = report
            let result: PassResult
            do {
                result = try PassDispatcher.dispatch(whole, repository, isUnchanged: isUnchanged)
            } catch {
                state.withLock { $0.isRefused = true }
                throw StaleReads()
            }
            engine.noteWorker(of: result, after: input)
            engine.state.withLock { _ = $0.commits.own.insert(transaction.number) }
            state.withLock { $0.phase = .written(input, result, number: transaction.number) }
        }

        /// Called if the writes are rolled back, before another commit of this process can get their number. They may be
        /// written again, with the same input.
        func forgetNumber() {
            let number: Int64? = state.withLock { state in
                guard case .written(let input, _, let number) = state.phase else { return nil }
                state.phase = .begun(input)
                return number
            }
            if let number { engine.forget(number) }
        }

        /// Concludes the pass after the commit, or undoes it.
        func end(_ isCommitted: Bool) {
            let (phase, decided) = state.withLock { state in
                defer { state.phase = .none }
                return (state.phase, state.decided)
            }
            if isCommitted, case .written(let input, let result, _) = phase {
                // The pass has written the end of an operation in any case. Claims that it has not made are not a loss.
                engine.conclude(input, result, found: result.claims.count)
                engine.executor.endExclusive()
                return state.withLock { $0.unreported = nil }
            }
            if isCommitted, !decided.isEmpty { engine.state.withLock { $0.work.decided += decided } }
            switch phase {
            case .none: break
            case .begun(let input): leaveToEngine(isTaken: true, input)
            case .written(let input, _, _): leaveToEngine(isTaken: true, input)
            }
        }

        /// Leaves all work to the engine's own passes.
        ///
        /// - Parameters:
        ///   - isTaken: whether the end of the attempt is among the ends to write. The handler then reports its result
        ///     itself.
        ///   - input: the work that was taken.
        private func leaveToEngine(isTaken: Bool, _ input: PassInput? = nil) {
            if let input { engine.restore(input) }
            if isTaken {
                engine.state.withLock { state in
                    state.work.ended.removeAll { $0.operation.claim == claim }
                    if state.running[claim.operation]?.claim == claim {
                        state.running[claim.operation]!.isEnding = false
                    }
                }
            }
            // The pass is requested first, so that the executor does not look idle in between.
            engine.schedulePass()
            engine.executor.endExclusive()
        }
    }
}
