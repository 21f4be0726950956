import Strata
import Synchronization

extension QueueEngine {
    /// A turn that is taken in the transaction in which a handler's changes are committed with the end of its operation: one commit does for
    /// these and for what is claimed next.
    ///
    /// It is left to the engine's own turns where one of those is under way.
    ///
    /// Isolation: used by one block, on the thread of that.
    final class JointTurn: Sendable {
        private struct State {
            /// Whether it has begun and is not over.
            var isBegun = false
            var work: Work?
            var done: Done?
            /// Whether the engine's own turns are to do it: it has failed, which is not to be the handler's failure.
            var isRefused = false
            /// What has become of the operation.
            var report = OperationBook.Report.lost
            /// The operations that the changes have left out, or taken as done.
            var decided: [Int64] = []
            /// The number of the engine's commit.
            var number: Int64 = 0
            /// Whether the end was told of.
            var isOver = false
        }

        private let engine: QueueEngine
        private let ending: Ending
        private let state = Mutex(State())

        init(_ engine: QueueEngine, _ ending: Ending) { (self.engine, self.ending) = (engine, ending) }

        /// What has become of the operation, where the engine does not know that yet.
        var untold: OperationBook.Report? { state.withLock { $0.isOver ? nil : $0.report } }

        private var claim: Claim { ending.operation.claim }

        /// Takes what the next turn is to do. Before the transaction, since constraints are asked, which may use the stack.
        func begin() {
            guard !state.withLock({ $0.isRefused }), engine.executor.beginExclusive() else { return }
            let isTaken = engine.state.withLock { state in
                guard state.running[claim.operation]?.claim == claim, !state.running[claim.operation]!.isEnding else {
                    return false
                }
                state.running[claim.operation]!.isEnding = true
                state.ended.append(ending)
                return true
            }
            guard isTaken else { return engine.executor.endExclusive() }
            let work = engine.takeWork(engine.clock.now)
            state.withLock { ($0.isBegun, $0.work) = (true, work) }
            if work == nil { giveUp() }
        }

        /// Writes the end of the operation, and what else the turn is to do.
        ///
        /// - Parameter end: writes the end.
        func write(
            _ transaction: StoreTransaction,
            _ rules: [PipelineName: OperationBook.Rules],
            _ end: (OperationBook) throws -> OperationBook.Report
        ) throws {
            var work = state.withLock { $0.work }
            let rules = work.map { QueueEngine.rules(of: $0.consumers.values) } ?? rules
            let decided = try transaction.inserted(of: FinishedOperation.self)
            let book = OperationBook(transaction, now: work?.now ?? engine.clock.now, rules)
            let isUnchanged = try book.remember(work?.sighting)
            let report = try end(book)
            state.withLock { ($0.report, $0.decided) = (report, decided) }
            guard work != nil else { return }
            let place = work!.ended.firstIndex { $0.operation.claim == claim }!
            work!.ended[place].written = report
            work!.decided += decided
            var done = Done()
            do {
                try engine.write(work!, book, isUnchanged: isUnchanged, &done)
            } catch {
                state.withLock { $0.isRefused = true }
                throw StaleReads()
            }
            engine.state.withLock { _ = $0.ownCommits.insert(transaction.number) }
            state.withLock { ($0.work, $0.done, $0.number) = (work, done, transaction.number) }
        }

        /// Goes on behind the commit.
        func end(_ isCommitted: Bool) {
            let (work, done) = state.withLock { ($0.work, $0.done) }
            if isCommitted, let work, let done {
                engine.conclude(work, done)
                engine.executor.endExclusive()
                state.withLock { ($0.isBegun, $0.work, $0.done, $0.isOver) = (false, nil, nil, true) }
            } else {
                if isCommitted { tellOfDecided() }
                if state.withLock({ $0.isBegun }) { giveUp() }
            }
        }

        private func tellOfDecided() {
            let decided = state.withLock { $0.decided }
            if !decided.isEmpty { engine.state.withLock { $0.decided += decided } }
        }

        /// Leaves everything to the engine's own turns.
        private func giveUp() {
            let (work, number) = state.withLock { state in
                defer { (state.isBegun, state.work, state.done) = (false, nil, nil) }
                return (state.work, state.done == nil ? nil : state.number)
            }
            if let work { engine.putBack(work) }
            engine.state.withLock { state in
                if let number {
                    state.ownCommits.remove(number)
                    state.isNews = true
                }
                // The handler says itself what has come of it.
                state.ended.removeAll { $0.operation.claim == claim }
                if state.running[claim.operation]?.claim == claim {
                    state.running[claim.operation]!.isEnding = false
                }
            }
            engine.executor.endExclusive()
            engine.scheduleTurn()
        }
    }
}
