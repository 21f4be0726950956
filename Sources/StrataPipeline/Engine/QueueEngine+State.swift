import Foundation
import Strata

extension QueueEngine {
    /// The data of the engine, under one lock. Each field is a group that one part of the code changes.
    struct State {
        /// The open pipelines and brokers.
        var consumers: [Consumer.ID: Consumer] = [:]
        /// Opening and closing.
        var registry = Registry()
        /// The running attempts.
        var running: [Int64: Running] = [:]
        /// The work for the next pass.
        var work = PassWork()
        /// What the last pass has left; nil while no worker is registered. Changes only while no pass runs, and at the
        /// end of a pass.
        var memory: PassMemory?
        /// The commits of the store.
        var commits = Commits()
        /// The alarm for the next date that needs a pass.
        var alarm = Alarm()
        /// How long passes wait for the claims of other nodes.
        var claimBackoff = ClaimBackoff()
        /// The times at which the queues are measured.
        var gaugePace = GaugePace()

        /// Whether an attempt still runs and its end has not been reported.
        func isOpen(_ claim: Claim) -> Bool {
            running[claim.operation].map { $0.claim == claim && !$0.isEnding } ?? false
        }
    }

    /// The opening and closing of consumers, and the reports that were made once for each queue.
    struct Registry {
        /// The rules of the open pipelines.
        var rules: [PipelineName: OperationRepository.Rules] = [:]
        /// The queues that several consumers take, as far as reported.
        var disputed: Set<PipelineName> = []
        /// Callers that wait for the end of a consumer's handlers.
        var endWaiters: [Int: EndWaiter] = [:]
        var lastWaiter = 0
        /// Whether the stack is being closed.
        var isStopping = false
        /// Whether the last consumer was closed. Then the stack no longer has this engine.
        var isOver = false
        /// Whether a test has left the engine as a killed process would.
        var isAbandoned = false
    }

    /// A caller that waits for the end of a consumer's handlers.
    typealias EndWaiter = (consumer: Consumer.ID, continuation: CheckedContinuation<Void, Never>)

    /// The engine's view of the commits of the store.
    struct Commits {
        /// The numbers of this engine's commits of which it has not been notified yet.
        var own: Set<Int64> = []
        /// The subscription to commits, until the engine has ended.
        var listening: CommitListening?
    }

    /// The alarm of the engine, of which only the last one counts.
    struct Alarm {
        var pending: (any PipelineAlarm)?
        var date: Date?
        /// The number of the last alarm, by which an older one is recognised.
        var number = 0
    }

    /// A running attempt.
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
        /// The error of the timeout, for the span of the handler; nil without a timeout or a tracer.
        var missedDeadline: MissedDeadline?
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
        /// The deadline came first, and ends the attempt with this value. The case is rare and indirect, so that the
        /// record of an attempt stays small.
        indirect case late(AttemptEnd)
    }
}

// MARK: Passes

extension QueueEngine.State {
    /// Takes the work for a pass; nil while no worker is registered.
    ///
    /// - Parameter slots: how many attempts may be started beside a number of running ones.
    mutating func takeInput(at now: Date, slots: (_ running: Int) -> Int) -> PassInput? {
        guard let memory else { return nil }
        defer { work = PassWork() }
        var input = PassInput(
            work: work,
            memory: memory,
            now: now,
            consumers: consumers,
            rules: registry.rules,
            slots: 0,
            claims: running.values.map(\.claim),
            running: OperationRepository.RunningOperations()
        )
        update(&input, slots: slots)
        return input
    }

    /// Updates the input of a pass with the present consumers, and with what its ends make free.
    ///
    /// - Parameter slots: as for ``takeInput(at:slots:)``.
    func update(_ input: inout PassInput, slots: (_ running: Int) -> Int) {
        let ended = Set(input.work.ended.map(\.operation.claim))
        var open = OperationRepository.RunningOperations()
        for (number, attempt) in running where !ended.contains(attempt.claim) { open.insert(number, in: attempt.lane) }
        input.consumers = consumers
        input.running = open
        input.slots = registry.isAbandoned ? 0 : slots(running.count - input.work.ended.count)
    }

    /// Applies the result of a committed pass.
    ///
    /// - Returns: the tasks to cancel, and the callers for which no handler runs any more.
    mutating func apply(
        _ result: PassResult,
        of input: PassInput
    ) -> (unwanted: [Task<Void, Never>], waiters: [QueueEngine.EndWaiter]) {
        for attemptEnd in input.work.ended {
            let claim = attemptEnd.operation.claim
            guard running[claim.operation]?.claim == claim else { continue }
            running[claim.operation] = nil
            consumers[attemptEnd.consumer.id]?.runningCount -= 1
        }
        let unwanted = result.unwanted.compactMap { number in
            running[number]?.isUnwanted = true
            return running[number]?.task
        }
        applyFindings(result, of: input)
        for (operation, consumer) in result.claims {
            running[operation.claim.operation] = QueueEngine.Running(
                claim: operation.claim,
                consumer: consumer.id,
                lane: OperationRepository.Lane(pipeline: operation.pipeline, name: operation.lane)
            )
            consumers[consumer.id]?.runningCount += 1
        }
        memory = result.memory
        if result.hasUnseenWork { work.hasUnseenWork = true }
        guard !registry.endWaiters.isEmpty else { return (unwanted, []) }
        let busy = Set(running.values.map(\.consumer))
        let waiters = registry.endWaiters.values.filter { !busy.contains($0.consumer) }
        registry.endWaiters = registry.endWaiters.filter { busy.contains($0.value.consumer) }
        return (unwanted, waiters)
    }

    /// Records for each consumer what the pass has found.
    private mutating func applyFindings(_ result: PassResult, of input: PassInput) {
        // Any operation may have waited for the ended ones.
        let mayHaveFreed = input.isEventful || result.hasUnseenWork
        for id in input.consumers.keys { consumers[id]?.record(result, mayHaveFreed: mayHaveFreed) }
    }
}
