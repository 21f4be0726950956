import Foundation
import Strata

/// The input of one pass.
struct PassInput: Sendable {
    /// The work that has arrived since the last pass.
    var work: PassWork
    /// What the last pass has left.
    let memory: PassMemory
    let now: Date
    var consumers: [Consumer.ID: Consumer]
    /// The rules of the pipelines among the consumers.
    let rules: [PipelineName: OperationRepository.Rules]
    /// How many attempts may be started, of all consumers together.
    var slots: Int
    /// The claims of all running attempts, including those that this pass ends.
    let claims: [Claim]
    /// The operations and lanes of the attempts that have not ended.
    var running: OperationRepository.RunningOperations
    /// The satisfied constraints of each consumer, if some may have become satisfied.
    var satisfied: [Consumer.ID: [Constraint]] = [:]

    /// The consumers in the order in which they are served, beginning after the one that was served last.
    var served: [Consumer] {
        let all = consumers.values.sorted { $0.id < $1.id }
        guard let next = all.firstIndex(where: { $0.id > memory.lastServed }), next > 0 else { return all }
        return Array(all[next...] + all[..<next])
    }

    /// The consumers that take operations under a name.
    func takers(of name: PipelineName) -> [Consumer] { consumers.values.filter { $0.takes(name) } }

    /// A consumer that takes the operations of a pipeline or queue. This is the only one, unless a queue is disputed.
    func taker(of name: PipelineName) -> Consumer? { consumers.values.first { $0.takes(name) } }

    /// Whether this worker must send a heartbeat. The next one is at most one interval away, unless the clock has been
    /// set.
    var isHeartbeatDue: Bool {
        let pause = memory.heartbeat.next.timeIntervalSince(now)
        return pause <= 0 || pause > 2 * PassMemory.Heartbeat.interval
    }

    /// Whether a hold ends, an operation expires, a schedule or a debounced operation is due, or a heartbeat is due.
    var isTimeUp: Bool { isHeartbeatDue || memory.nextDue.map { $0 <= now } ?? false }

    /// Whether other commits or the time may have made operations ready.
    var isDue: Bool { work.hasUnseenWork || isTimeUp || memory.withheldUntil.map { $0 <= now } ?? false }

    /// Whether constraints may have become satisfied.
    var mustWakeConstrained: Bool { work.haveConstraintsChanged || isHeartbeatDue }

    /// Whether operations may have become ready.
    var isEventful: Bool { !work.ended.isEmpty || isDue || work.haveConstraintsChanged }

    /// Whether the pass writes whatever it finds in the store: the ends and the progress of attempts, or the time at
    /// which this worker was last alive.
    ///
    /// Other passes often write nothing. In a store with a home, they look into the working copy first, without the
    /// home's lock. If another node commits at that moment, the engine learns of it as of each commit, and runs another
    /// pass.
    var mustWrite: Bool { !work.ended.isEmpty || !work.progress.isEmpty || isHeartbeatDue && !claims.isEmpty }

    /// Whether no work is due, so that the pass needs no transaction.
    var isEmpty: Bool {
        work.isEmpty && !isDue && !memory.heartbeat.isPruning
            && (slots == 0 || !consumers.values.contains { $0.isClaimable(hasUnseenWork: work.hasUnseenWork) })
    }
}

/// The work that arrives between two passes.
struct PassWork: Sendable {
    /// Ends of attempts that are not yet written.
    var ended: [AttemptEnd] = []
    var progress: [Claim: Double] = [:]
    /// Operations that other commits skipped or completed without an attempt, and whose events are not sent yet.
    var decided: [Int64] = []
    /// Whether operations may have become ready without the engine's knowledge.
    var hasUnseenWork = false
    /// Whether constraints may have become satisfied.
    var haveConstraintsChanged = false
    /// Whether schedules may have changed.
    var haveSchedulesChanged = false

    var isEmpty: Bool {
        ended.isEmpty && progress.isEmpty && decided.isEmpty && !hasUnseenWork && !haveConstraintsChanged
            && !haveSchedulesChanged
    }

    /// Puts back the work of a pass that was not written, before the work that has arrived since.
    mutating func restore(_ work: PassWork) {
        ended = work.ended + ended
        progress.merge(work.progress) { newer, _ in newer }
        decided = work.decided + decided
        hasUnseenWork = hasUnseenWork || work.hasUnseenWork
        haveConstraintsChanged = haveConstraintsChanged || work.haveConstraintsChanged
        haveSchedulesChanged = haveSchedulesChanged || work.haveSchedulesChanged
    }
}

/// What one pass leaves for the next one.
///
/// Only passes, and bodies that run between two passes, change it. Each pass therefore replaces it as a whole.
struct PassMemory: Sendable {
    /// This engine's number among the workers of the store.
    var worker: Int64
    /// The consumer that received the last operation. It is served last if the slots do not suffice for all.
    var lastServed: Consumer.ID = 0
    /// Whether the last pass ended or started several attempts at once. Then the next pass waits for more work.
    var isBusy = false
    /// The facts that the last pass has read from the store.
    var cachedFacts: OperationRepository.CachedFacts?
    /// The next date at which a hold ends, an operation expires or a schedule is due, as last known.
    var nextDue: Date?
    /// The date up to which due schedules have been handled.
    var seenUntil = Date.distantPast
    /// Until when no operation is started, so that a suspected operation runs alone; nil if operations may be started.
    var withheldUntil: Date?
    var heartbeat = Heartbeat()

    /// What one heartbeat leaves for the next one.
    struct Heartbeat: Sendable {
        /// The interval in seconds at which a worker sends a heartbeat and looks for other workers.
        static let interval = 10.0

        /// When this worker sends its next heartbeat.
        var next = Date.distantPast
        /// The last observations of other workers.
        var others: [Int64: OperationRepository.WorkerObservation] = [:]
        /// Where the last search for stray cycles has ended.
        var cyclesSearchedTo = Int64.min
        /// The position up to which finished operations are being deleted; nil if none are.
        var archiveEnd: OperationRepository.ArchiveEnd?
        /// Whether rows of keys may be left whose time is over.
        var prunesUniqueness = false
        /// Whether rows of lanes with full token buckets are being deleted.
        var isForgettingLanes = false

        /// Whether the next passes delete rows that are no longer needed.
        var isPruning: Bool { archiveEnd != nil || prunesUniqueness || isForgettingLanes }
    }
}
