import Foundation
import Strata
import Synchronization

/// Runs the operations of all pipelines of one stack.
///
/// All that it writes it writes turn by turn, one transaction each: what has ended since the last turn, what
/// has become due, and new claims. While a turn is on the disk the next one's work gathers, so that many operations share a
/// commit under load, and one alone does not wait.
///
/// Isolation: any.
final class QueueEngine: StackEngine {
    struct State {
        var consumers: [Consumer.ID: Consumer] = [:]
        var lastConsumer = 0
        /// Who was given the last operation.
        var lastServed = 0
        /// The queues that several take, and of which that was said.
        var disputed: Set<PipelineName> = []
        /// Ends of attempts that are to be written.
        var ended: [Ending] = []
        var progress: [Claim: Double] = [:]
        /// The attempts that run.
        var running: [Int64: Running] = [:]
        var worker: Int64?
        /// What was last known of the next moment at which a hold ends or a schedule is due.
        var nextDue: Date?
        /// What the last turn has seen of the store.
        var sighting: OperationBook.Sighting?
        /// Until when due schedules were looked at.
        var seenUntil = Date.distantPast
        var alarm: (any PipelineAlarm)?
        var alarmDate: Date?
        var alarmNumber = 0
        /// The numbers of this engine's commits that it has not been told of yet.
        var ownCommits: Set<Int64> = []
        /// Operations that were left out or taken as done without an attempt, by commits of others, of which is yet to be told.
        var decided: [Int64] = []
        /// Until when nothing is started, so that an operation that is suspected of having ended its process runs alone; nil if one may be started.
        var withheldUntil: Date?
        /// Whether operations may have become ready that the engine does not know of.
        var isNews = false
        /// Whether the last turn ended or started several attempts at once: then the next one waits for more.
        var isBusy = false
        var suspensions = 0
        /// Who waits for the ends of a consumer's handlers.
        var endWaiters: [Int: (consumer: Consumer.ID, continuation: CheckedContinuation<Void, Never>)] = [:]
        var lastWaiter = 0
        /// Whether the last consumer was closed: then the stack knows of this engine no more.
        var isOver = false
        /// Whether the stack is being closed.
        var isStopping = false
        /// Up to where finished operations are being let go; nil where none are.
        var archiveEnd: OperationBook.ArchiveEnd?
        /// Where the last look for stray rings has ended.
        var ringsSeen = Int64.min
        /// When this worker looks for others, and says that it lives.
        var nextBeat = Date.distantPast
        /// What was last seen of other workers.
        var others: [Int64: OperationBook.Sight] = [:]
        /// Whether constraints may have become satisfied.
        var haveConstraintsChanged = false
        /// Whether schedules may have been changed.
        var haveSchedulesChanged = false

        /// Whether an attempt runs still, and nobody has said what has come of it.
        func isOpen(_ claim: Claim) -> Bool {
            running[claim.operation].map { $0.claim == claim && !$0.isEnding } ?? false
        }
    }

    struct Running: Sendable {
        let claim: Claim
        let consumer: Consumer.ID
        let lane: OperationBook.Lane
        /// Nil before it has begun.
        var task: Task<Void, Never>?
        /// Whether its task is to be cancelled.
        var isUnwanted = false
        /// What is called instead of its handler, with that.
        var replacement: HandlerReplacement?
        /// Rings when it has taken too long.
        var deadline: (any PipelineAlarm)?
        /// Which came first, that or its handler's return.
        var timing = Timing.open
        /// Whether its end is about to be written.
        var isEnding = false
    }

    /// Whether a handler returns before the deadline of its attempt.
    enum Timing: Sendable {
        /// Neither has come.
        case open
        case inTime
        /// What the attempt ends with.
        case late(Ending)
    }

    /// What came of an attempt.
    struct Ending: Sendable {
        let operation: ClaimedOperation
        let consumer: Consumer
        let outcome: Result<Outcome, any Error>
        /// What has become of the operation, where that is in the store already, with the handler's own changes.
        var written: OperationBook.Report?
        /// Whether what it waits for is there, as far as anybody knows.
        var isSatisfied = false
    }

    /// The name under which the history has what engines commit.
    static let author = "strata.pipeline"
    static let name = "strata.pipeline"

    let stack: ContextStack
    let clock: any PipelineClock
    /// What holds for all consumers together.
    let group: StackPipelines
    let state = Mutex(State())
    let executor = EngineExecutor()
    /// Where the changes of handlers are made and committed, one handler's after the other.
    let doneBlocks = BlockQueue(label: "strata.pipelines.done")
    /// Has it told of commits, until it has ended.
    let listening = Mutex<CommitListening?>(nil)

    init(_ stack: ContextStack, _ clock: any PipelineClock, _ group: StackPipelines) {
        self.stack = stack
        self.clock = clock
        self.group = group
        let listening = stack.listen { [weak self] news in self?.note(news) }
        self.listening.withLock { $0 = listening }
    }

    /// What the stack and the clock of a pipeline belong to.
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

    // MARK: News

    /// Commits may have made operations ready, or be about those that run.
    private func note(_ news: [ChangeSet]?) {
        let isConcerned = state.withLock { state in
            // What this engine does itself it knows; others of its kind commit as well.
            let isConcerned = news?.reduce(false) { known, changes in
                state.ownCommits.remove(changes.token.sequence) == nil && Self.isConcerned(changes) || known
            }
            if news == nil { state.ownCommits = [] }
            // What engines commit they tell of themselves, each in its process.
            for changes in news ?? [] where changes.author != Self.author && changes.contains(FinishedOperation.self) {
                state.decided += changes.of(FinishedOperation.self).inserted.map(\.number)
            }
            if news?.contains(where: { $0.contains(PeriodicOperation.self) }) ?? true {
                state.haveSchedulesChanged = true
            }
            if isConcerned ?? true { state.isNews = true }
            return isConcerned ?? true
        }
        if isConcerned { scheduleTurn() }
    }

    private static func isConcerned(_ changes: ChangeSet) -> Bool {
        changes.contains(QueuedOperation.self) || changes.contains(OperationHold.self)
            || changes.contains(OperationDependency.self) || changes.contains(PeriodicOperation.self)
    }

    /// Runs a transaction whose commit is no news to this engine.
    func transact(_ body: (StoreTransaction) throws -> Void) throws {
        try noting { note in
            try stack.transact(author: Self.author) { transaction in
                try body(transaction)
                note(transaction)
            }
        }
    }

    /// Has the engine know which commit is its own, as long as that may come to something.
    func noting(_ body: ((StoreTransaction) -> Void) throws -> Void) throws {
        var number: Int64?
        do {
            try body { transaction in
                // Where nothing is written the number is somebody else's.
                guard !transaction.isEmpty else { return }
                number = transaction.number
                state.withLock { _ = $0.ownCommits.insert(transaction.number) }
            }
        } catch {
            if let number {
                state.withLock { state in
                    state.ownCommits.remove(number)
                    state.isNews = true
                }
            }
            throw error
        }
    }

    /// Has a turn taken, once for all who ask before it.
    ///
    /// - Parameters:
    ///   - isPatient: whether it may wait a moment for more to do, unless somebody wants it sooner.
    ///   - isLast: whether a handler of this engine asks, by the last thing that it does.
    func scheduleTurn(isPatient: Bool = false, isLast: Bool = false) {
        executor.ask(isPatient: isPatient, isLast: isLast) { self.runTurn() }
    }

    /// Takes one turn, after those that are due.
    func takeTurn() async { _ = try? await executor.perform { self.runTurn() } }

    /// Does something where nothing is written meanwhile.
    func onQueue<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await executor.perform(body)
    }

    /// Waits until everything that is known has been looked at and written. Handlers may run still.
    func settle() async { await executor.settle() }

    // MARK: Attempts

    func note(progress: Double, of claim: Claim) throws {
        let isHeld = state.withLock { state in
            guard state.running[claim.operation]?.claim == claim else { return false }
            state.progress[claim] = progress
            return true
        }
        guard isHeld else { throw Self.lostError(claim) }
        scheduleTurn()
    }

    /// Has the end of an attempt written; of several the first counts. A handler that others say it of is cancelled: what it says
    /// of its cancellation comes too late.
    ///
    /// - Parameter isLast: whether the handler itself says so, by the last thing that it does.
    func end(_ ending: Ending, isLast: Bool = false) {
        let number = ending.operation.claim.operation
        var task: Task<Void, Never>?
        let deadline = state.withLock { state in
            guard state.isOpen(ending.operation.claim) else { return nil as (any PipelineAlarm)? }
            state.running[number]!.isEnding = true
            if !isLast {
                state.running[number]!.isUnwanted = true
                task = state.running[number]!.task
            }
            // Where the deadline has come first, its end counts, whoever has it written.
            if case .late(let missed) = state.running[number]!.timing {
                state.ended.append(missed)
            } else {
                state.ended.append(ending)
            }
            return state.running[number]!.deadline
        }
        deadline?.cancel()
        task?.cancel()
        let isAlone = state.withLock { !$0.isBusy || $0.ended.count >= $0.running.count }
        scheduleTurn(isPatient: !isAlone, isLast: isLast)
    }

    /// Constraints may have become satisfied.
    func constraintsChanged() {
        state.withLock { $0.haveConstraintsChanged = true }
        scheduleTurn()
    }

    static func lostError(_ claim: Claim) -> PipelineError {
        PipelineError(
            .leaseLost,
            "Operation \(claim.operation) is no longer this attempt's: it was taken over, or taken off the queue.",
            operations: [claim.operation]
        )
    }
}
