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
    struct State {
        var consumers: [Consumer.ID: Consumer] = [:]
        var lastConsumer = 0
        /// The consumer that received the last operation.
        var lastServed = 0
        /// The queues that several consumers take, as far as reported.
        var disputed: Set<PipelineName> = []
        /// Ends of attempts that are not yet written.
        var ended: [AttemptEnd] = []
        var progress: [Claim: Double] = [:]
        /// The running attempts.
        var running: [Int64: Running] = [:]
        var worker: Int64?
        /// The next date at which a hold ends or a schedule is due, as last known.
        var nextDue: Date?
        /// The facts that the last pass has read from the store.
        var cachedFacts: OperationRepository.CachedFacts?
        /// The date up to which due schedules have been handled.
        var seenUntil = Date.distantPast
        var alarm: (any PipelineAlarm)?
        var alarmDate: Date?
        var alarmNumber = 0
        /// The numbers of this engine's commits of which it has not been notified yet.
        var ownCommits: Set<Int64> = []
        /// Operations that other commits skipped or completed without an attempt, and whose events are not sent yet.
        var decided: [Int64] = []
        /// Until when no operation is started, so that a suspected operation runs alone; nil if operations may be
        /// started.
        var withheldUntil: Date?
        /// Whether operations may have become ready without the engine's knowledge.
        var hasUnseenWork = false
        /// Whether the last pass ended or started several attempts at once. Then the next pass waits for more work.
        var isBusy = false
        var suspensions = 0
        /// Callers that wait for the end of a consumer's handlers.
        var endWaiters: [Int: (consumer: Consumer.ID, continuation: CheckedContinuation<Void, Never>)] = [:]
        var lastWaiter = 0
        /// Whether the last consumer was closed. Then the stack no longer has this engine.
        var isOver = false
        /// Whether the stack is being closed.
        var isStopping = false
        /// The position up to which finished operations are being deleted; nil if none are.
        var archiveEnd: OperationRepository.ArchiveEnd?
        /// Where the last search for stray cycles has ended.
        var cyclesSearchedTo = Int64.min
        /// When this worker sends its next heartbeat and looks for other workers.
        var nextHeartbeat = Date.distantPast
        /// The last observations of other workers.
        var others: [Int64: OperationRepository.WorkerObservation] = [:]
        /// Whether constraints may have become satisfied.
        var haveConstraintsChanged = false
        /// Whether schedules may have changed.
        var haveSchedulesChanged = false

        /// Whether an attempt still runs and its end has not been reported.
        func isOpen(_ claim: Claim) -> Bool {
            running[claim.operation].map { $0.claim == claim && !$0.isEnding } ?? false
        }
    }

    struct Running: Sendable {
        let claim: Claim
        let consumer: Consumer.ID
        let lane: OperationRepository.Lane
        /// The handler's task; nil before the attempt has begun.
        var task: Task<Void, Never>?
        /// Whether the task must be cancelled.
        var isUnwanted = false
        /// The function to call instead of the handler. It receives the handler.
        var replacement: HandlerReplacement?
        /// The alarm for the timeout of the attempt.
        var deadline: (any PipelineAlarm)?
        /// Which came first: the deadline or the handler's return.
        var timing = Timing.open
        /// Whether the end of the attempt is about to be written.
        var isEnding = false
    }

    /// Whether a handler returns before the deadline of its attempt.
    enum Timing: Sendable {
        /// Neither has happened.
        case open
        case inTime
        /// The deadline came first, and ends the attempt with this value.
        case late(AttemptEnd)
    }

    /// The end of an attempt.
    struct AttemptEnd: Sendable {
        let operation: ClaimedOperation
        let consumer: Consumer
        let outcome: Result<Outcome, any Error>
        /// The result for the operation, if it was already stored with the handler's own changes.
        var written: OperationRepository.Report?
        /// Whether the constraint that the operation waits for is satisfied, as far as its source knows.
        var isSatisfied = false
    }

    /// The author of the engine's commits in the history.
    static let author = "strata.pipeline"
    static let name = "strata.pipeline"

    let stack: ContextStack
    let clock: any PipelineClock
    /// The controls of all consumers together.
    let group: StackPipelines
    let state = Mutex(State())
    let executor = EngineExecutor()
    /// The queue on which the changes of handlers are made and committed, one handler after the other.
    let doneBlocks = BlockQueue(label: "strata.pipelines.done")
    /// The subscription to commits, until the engine has ended.
    let listening = Mutex<CommitListening?>(nil)

    init(_ stack: ContextStack, _ clock: any PipelineClock, _ group: StackPipelines) {
        self.stack = stack
        self.clock = clock
        self.group = group
        let listening = stack.listen { [weak self] commits in self?.handleCommits(commits) }
        self.listening.withLock { $0 = listening }
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
                state.ownCommits.remove(changes.token.sequence) == nil && Self.isConcerned(changes) || known
            }
            if commits == nil { state.ownCommits = [] }
            // Every engine reports its own commits in its own process.
            for changes in commits ?? [] where changes.author != Self.author && changes.contains(FinishedOperation.self)
            {
                state.decided += changes.of(FinishedOperation.self).inserted.map(\.rawValue)
            }
            if commits?.contains(where: { $0.contains(PeriodicOperation.self) }) ?? true {
                state.haveSchedulesChanged = true
            }
            if isConcerned ?? true { state.hasUnseenWork = true }
            return isConcerned ?? true
        }
        if isConcerned { schedulePass() }
    }

    private static func isConcerned(_ changes: ChangeSet) -> Bool {
        changes.contains(QueuedOperation.self) || changes.contains(OperationHold.self)
            || changes.contains(OperationDependency.self) || changes.contains(PeriodicOperation.self)
    }

    /// Runs a transaction and marks its commit as this engine's own.
    func transact(_ body: (StoreTransaction) throws -> Void) throws {
        try markOwnCommit { mark in
            try stack.transact(author: Self.author) { transaction in
                try body(transaction)
                mark(transaction)
            }
        }
    }

    /// Records the number of the commit as this engine's own, until the commit fails.
    func markOwnCommit(_ body: ((StoreTransaction) -> Void) throws -> Void) throws {
        var number: Int64?
        do {
            try body { transaction in
                // If nothing is written, another commit gets the number.
                guard !transaction.isEmpty else { return }
                number = transaction.number
                state.withLock { _ = $0.ownCommits.insert(transaction.number) }
            }
        } catch {
            if let number {
                state.withLock { state in
                    state.ownCommits.remove(number)
                    state.hasUnseenWork = true
                }
            }
            throw error
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

    /// Runs a body between two passes, while the engine does not write.
    func onQueue<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await executor.perform(body)
    }

    /// Waits until the engine has processed and written everything that it knows of. Handlers may still run.
    func waitForPasses() async { await executor.waitUntilIdle() }

    // MARK: Attempts

    func record(progress: Double, of claim: Claim) throws {
        let isHeld = state.withLock { state in
            guard state.running[claim.operation]?.claim == claim else { return false }
            state.progress[claim] = progress
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
                state.ended.append(missed)
            } else {
                state.ended.append(attemptEnd)
            }
            return state.running[number]!.deadline
        }
        deadline?.cancel()
        task?.cancel()
        let isAlone = state.withLock { !$0.isBusy || $0.ended.count >= $0.running.count }
        schedulePass(isPatient: !isAlone, isLast: isLast)
    }

    /// Handles constraints that may have become satisfied.
    func constraintsChanged() {
        state.withLock { $0.haveConstraintsChanged = true }
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
