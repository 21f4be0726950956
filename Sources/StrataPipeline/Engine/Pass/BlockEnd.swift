import Strata
import Synchronization

/// The end of an operation that is committed with the changes of its handler's block, as a part of a ``JointPass`` if
/// possible.
///
/// While one of the engine's own passes runs, or a caller waits for a moment between two passes, no joint pass begins. The
/// handler then reports the end, and the engine's next pass does the rest.
///
/// Isolation: used by one block, by one thread at a time. The joint pass is shared by all blocks of the engine, and has a
/// lock.
final class BlockEnd: Sendable {
    private typealias FoundPass = (
        number: Int, rules: [PipelineName: OperationRepository.Rules], facts: OperationRepository.CachedFacts?
    )

    private struct State {
        /// Whether the block counts among those that wait for the writer.
        var isWaiting = false
        /// Whether the end is written, and not rolled back.
        var isWritten = false
        /// Whether the written end belongs to the joint pass.
        var isJoined = false
        /// The number of the engine's commit with the end.
        var number: Int64?
        /// Whether a pass of this block has failed. The failure must not fail the handler, so the block runs again
        /// without a pass.
        var isRefused = false
        /// The result for the operation, if the engine does not have it yet.
        var unreported: OperationRepository.Report? = .lost
        /// The operations that the block has skipped or completed.
        var decided: [Int64] = []
    }

    private let engine: QueueEngine
    private let attemptEnd: AttemptEnd
    private let state = Mutex(State())

    init(_ engine: QueueEngine, _ attemptEnd: AttemptEnd) { (self.engine, self.attemptEnd) = (engine, attemptEnd) }

    /// The result for the operation, if the engine does not have it yet.
    var unreported: OperationRepository.Report? { state.withLock { $0.unreported } }

    private var claim: Claim { attemptEnd.operation.claim }

    /// Counts the block among those that wait for the writer, and takes the work of a pass if no other block has.
    ///
    /// This happens before the transaction, because it asks constraints, and these may use the stack. The block may still
    /// fail.
    func prepare() {
        let isRefused = state.withLock { state in
            state.isWaiting = true
            return state.isRefused
        }
        let isOpen = engine.state.withLock { $0.isOpen(claim) }
        let mustBegin = engine.joint.withLock { joint in
            joint.waiting += 1
            guard joint.pass == nil, !joint.isBeginning, !isRefused, isOpen, engine.executor.beginExclusive() else {
                return false
            }
            joint.isBeginning = true
            return true
        }
        guard mustBegin else { return }
        let input = engine.collectInput()
        engine.joint.withLock { joint in
            joint.isBeginning = false
            if let input { joint.begin(input) }
        }
        if input == nil { engine.leaveToPasses() }
    }

    /// Writes the end of the operation. The last of the waiting blocks also writes the rest of the pass.
    ///
    /// - Parameter end: writes the end.
    func write(
        _ transaction: StoreTransaction,
        _ end: (OperationRepository) throws -> OperationRepository.Report
    ) throws {
        let isRefused = state.withLock { $0.isRefused }
        let pass = engine.joint.withLock { joint -> FoundPass? in
            guard !isRefused, let pass = joint.pass, pass.outcome == nil else { return nil }
            return (pass.number, pass.input.rules, pass.facts)
        }
        let rules = pass?.rules ?? engine.state.withLock { $0.registry.rules }
        let repository = OperationRepository(transaction, now: engine.clock.now, rules)
        let isUnchanged = try repository.adopt(pass?.facts)
        let decided = try transaction.inserted(of: FinishedOperation.self)
        let report = try end(repository)
        var written = attemptEnd
        written.written = report
        let (isJoined, complete) = engine.joint.withLock { joint -> (Bool, JointPass?) in
            joint.waiting -= 1
            let end = JointPass.End(attemptEnd: written, decided: decided)
            guard let pass,
                joint.add(end, to: pass.number, leaving: repository.cachedFacts, isUnchanged: isUnchanged)
            else { return (false, nil) }
            return (true, joint.isComplete ? joint.pass : nil)
        }
        state.withLock { state in
            (state.isWaiting, state.isWritten, state.isJoined) = (false, true, isJoined)
            (state.unreported, state.decided) = (report, decided)
            // The joint pass looks for operations that the end has made ready. Without it, the commit makes the engine
            // look.
            state.number = isJoined ? transaction.number : nil
        }
        guard isJoined else { return }
        engine.state.withLock { _ = $0.commits.own.insert(transaction.number) }
        if let complete { try dispatch(complete, repository) }
    }

    /// Writes the rest of the pass.
    private func dispatch(_ pass: JointPass, _ repository: OperationRepository) throws {
        let input = engine.completeInput(of: pass)
        let result: PassResult
        do {
            result = try PassDispatcher.dispatch(input, repository, isUnchanged: pass.isUnchanged)
        } catch {
            state.withLock { $0.isRefused = true }
            throw StaleReads()
        }
        engine.noteWorker(of: result, after: input)
        engine.joint.withLock { $0.complete(JointPass.Outcome(writer: claim, input: input, result: result)) }
    }

    /// Called if the writes are rolled back, before another commit of this process can get their number. They may be
    /// written again.
    func rollBack() {
        let (wasWritten, number) = state.withLock { state in
            guard state.isWritten else { return (false, Int64?.none) }
            defer { (state.isWaiting, state.isWritten, state.isJoined, state.number) = (true, false, false, nil) }
            return (true, state.number)
        }
        guard wasWritten else { return }
        engine.joint.withLock { $0.remove(claim) }
        if let number { engine.forget(number) }
    }

    /// Called when the outcome of the transaction is known. Ends the joint pass if it is complete, or if no other block
    /// will complete it.
    func end(_ isCommitted: Bool) {
        let ended = state.withLock { state in
            defer { state.isWaiting = false }
            if isCommitted, state.isJoined { state.unreported = nil }
            return state
        }
        let pass = engine.joint.withLock { joint -> JointPass? in
            if ended.isWaiting { joint.waiting -= 1 }
            if isCommitted, ended.isJoined { joint.noteCommit(of: claim) }
            return joint.takePass(endedBy: isCommitted ? claim : nil)
        }
        if isCommitted, !ended.isJoined, !ended.decided.isEmpty {
            engine.state.withLock { $0.work.decided += ended.decided }
        }
        if let pass { engine.end(pass) }
    }
}

extension QueueEngine {
    /// Concludes a joint pass after the commit of all its writes, or leaves its work to the engine's own passes.
    fileprivate func end(_ pass: JointPass) {
        if let outcome = pass.outcome {
            // The pass has written the ends of operations in any case. Claims that it has not made are not a loss.
            conclude(outcome.input, outcome.result, found: outcome.result.claims.count)
            return executor.endExclusive()
        }
        restore(pass.input)
        state.withLock { state in
            for end in pass.ends where state.isOpen(end.attemptEnd.operation.claim) {
                state.running[end.attemptEnd.operation.claim.operation]!.isEnding = true
                state.work.ended.append(end.attemptEnd)
            }
            state.work.decided += pass.ends.flatMap(\.decided)
        }
        leaveToPasses()
    }

    fileprivate func leaveToPasses() {
        // The pass is requested first, so that the executor does not look idle in between.
        schedulePass()
        executor.endExclusive()
    }
}
