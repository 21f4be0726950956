import Dispatch
import Foundation
import Strata
import Synchronization

/// The engine that runs the operations of all pipelines of one stack.
///
/// The engine writes in passes, with one transaction each. A pass stores the outcomes since the last pass, handles due
/// holds and schedules, and claims operations. While a pass is being written, the work of the next one gathers. Under
/// load, many operations share a commit. A single operation does not wait.
///
/// Isolation: any.
final class QueueEngine: StackEngine {
    /// The author of the engine's commits in the history.
    static let author = "strata.pipeline"
    static let name = "strata.pipeline"

    let stack: ContextStack
    /// The time of the operations: that of the home, if the store has one.
    let clock: any PipelineClock
    /// The time of callers, by which they give deadlines.
    let callerClock: any PipelineClock
    /// The controls of all consumers together.
    let group: StackPipelines
    let state = Mutex(State())
    let executor = EngineExecutor()
    let joint = Mutex(JointState())
    let storeFailures = Mutex(StoreFailureLog())
    /// The queue on which long blocks of handlers run and are committed, one after the other.
    let doneBlocks = BlockQueue(label: "strata.pipelines.done")

    init(_ stack: ContextStack, _ clock: any PipelineClock, _ group: StackPipelines) {
        self.stack = stack
        self.clock = stack.hasHome ? HomeClock(base: clock, stack: stack) : clock
        callerClock = clock
        self.group = group
        let listening = stack.listen { [weak self] commits in self?.handleCommits(commits) }
        state.withLock { $0.commits.listening = listening }
    }

    /// The engine of a stack. If the stack does not have an engine, a new one with this clock is created.
    static func of(_ stack: ContextStack, _ clock: any PipelineClock) throws -> QueueEngine {
        for model in Pipeline.models where !stack.knows(model) {
            throw PipelineError(
                .modelsMissing,
                "The stack was opened without \(model). Open it with `models: [...] + Pipeline.models`."
            )
        }
        let group = stack.pipelines
        let engine = try stack.engine(name) { QueueEngine(stack, clock, group) }
        group.attach(engine)
        return engine
    }

    // MARK: Commits

    /// Handles commits, which may have made operations ready or may concern running operations.
    private func handleCommits(_ commits: [ChangeSet]?) {
        let isConcerned = state.withLock { state in
            // The engine knows its own commits. Other engines commit under the same author, so the commit number
            // decides.
            let isConcerned = commits?.reduce(false) { known, changes in
                state.commits.own.remove(changes.token.sequence) == nil && Self.isConcerned(changes) || known
            }
            if commits == nil { state.commits.own = [] }
            // Every engine reports its own commits in its own process.
            for changes in commits ?? [] where changes.author != Self.author && changes.contains(FinishedOperation.self)
            {
                state.work.decided += changes.of(FinishedOperation.self).inserted.map(\.rawValue)
            }
            if commits?.contains(where: { $0.contains(PeriodicOperation.self) }) ?? true {
                state.work.haveSchedulesChanged = true
            }
            if isConcerned ?? true { state.work.hasUnseenWork = true }
            return isConcerned ?? true
        }
        if commits == nil, stack.hasHome { schedulePassAfterOthers() } else if isConcerned { schedulePass() }
    }

    /// Requests a pass after a commit of another node, which wakes the engines of all nodes: see ``ClaimBackoff``.
    private func schedulePassAfterOthers() {
        guard let wait = state.withLock({ $0.claimBackoff.beginWait() }) else { return }
        if wait == .zero { return schedulePass() }
        // By the time of the machine, and not by the clock of the pipelines: the wait depends on the network.
        DispatchQueue.global().asyncAfter(deadline: .now() + wait.seconds) { [weak self] in
            guard let self else { return }
            state.withLock { $0.claimBackoff.endWait() }
            schedulePass()
        }
    }

    private static func isConcerned(_ changes: ChangeSet) -> Bool {
        changes.contains(QueuedOperation.self) || changes.contains(OperationHold.self)
            || changes.contains(OperationDependency.self) || changes.contains(PeriodicOperation.self)
            || changes.contains(DebouncedOperation.self) || changes.contains(PipelineOverride.self)
    }

    /// Runs a transaction, and records the number of its commit as this engine's own, unless it is rolled back.
    ///
    /// - Parameter access: what the transaction needs of the home, if there is one. Unless it is `locked`, `body` may run
    ///   twice.
    func transact(access: HomeAccess = .locked, _ body: (StoreTransaction) throws -> Void) throws {
        let number = Mutex<Int64?>(nil)
        try stack.transact(author: Self.author, access: access) { transaction in
            try body(transaction)
            // If nothing is written, another commit gets the number.
            guard !transaction.isEmpty else { return }
            number.withLock { $0 = transaction.number }
            state.withLock { _ = $0.commits.own.insert(transaction.number) }
        } rolledBack: { [self] in
            if let number = number.withLock({ $0 }) { forget(number) }
        }
    }

    /// Forgets the number of an own commit that was rolled back. Another commit gets the number.
    func forget(_ number: Int64) {
        state.withLock { state in
            state.commits.own.remove(number)
            state.work.hasUnseenWork = true
        }
    }

    /// Requests a pass. One pass serves all requests made before it.
    ///
    /// - Parameters:
    ///   - isPatient: whether the pass may wait a moment for more work, unless another request needs it sooner.
    ///   - isLast: whether a handler of this engine makes the request as its last action.
    func schedulePass(isPatient: Bool = false, isLast: Bool = false) {
        executor.requestPass(isPatient: isPatient, isLast: isLast) { self.runPass() }
    }

    /// Runs one pass, after the requested ones.
    func performPass() async { _ = try? await executor.perform { self.runPass() } }

    // MARK: Attempts

    func record(progress: Double, of claim: Claim) throws {
        let isHeld = state.withLock { state in
            guard state.running[claim.operation]?.claim == claim else { return false }
            state.work.progress[claim] = progress
            return true
        }
        guard isHeld else { throw Self.lostError(claim) }
        schedulePass()
    }

    /// Ends an attempt. If several ends are reported, the first one counts. If the end does not come from the handler,
    /// the handler is cancelled, and its later outcome does not count.
    ///
    /// - Parameter isLast: whether the handler makes the call as its last action.
    func end(_ attemptEnd: AttemptEnd, isLast: Bool = false) {
        let number = attemptEnd.operation.claim.operation
        var task: Task<Void, Never>?
        let deadline = state.withLock { state in
            guard state.isOpen(attemptEnd.operation.claim) else { return nil as (any PipelineAlarm)? }
            state.running[number]!.isEnding = true
            if !isLast {
                state.running[number]!.isUnwanted = true
                task = state.running[number]!.task
            }
            // If the deadline has passed first, its end counts, whichever call reports an end.
            if case .late(let missed) = state.running[number]!.timing {
                state.work.ended.append(missed)
            } else {
                state.work.ended.append(attemptEnd)
            }
            return state.running[number]!.deadline
        }
        deadline?.cancel()
        task?.cancel()
        let isAlone = state.withLock { state in
            !(state.memory?.isBusy ?? false) || state.work.ended.count >= state.running.count
        }
        schedulePass(isPatient: !isAlone, isLast: isLast)
    }

    /// Handles constraints that may have become satisfied.
    func constraintsChanged() {
        state.withLock { $0.work.haveConstraintsChanged = true }
        schedulePass()
    }

    static func lostError(_ claim: Claim) -> PipelineError {
        PipelineError(
            .leaseLost,
            "Operation \(claim.operation) no longer belongs to this attempt: another worker has it, or it left the "
                + "queue.",
            operations: [claim.operation]
        )
    }
}
