import Foundation
import Strata

/// The rules by which operations move from one status to another, as statements within one transaction.
///
/// A `pending` operation need not be ready. The engine looks at an operation when it is the best candidate. If the
/// operation must wait, it becomes `waiting` or `held` until the cause is gone, and `pending` again afterwards. So no
/// status is computed in advance, and each operation is looked at a bounded number of times.
struct OperationRepository {
    let transaction: StoreTransaction
    /// The time by the clock of the engine.
    let now: Date
    private let knownRules: [PipelineName: Rules]
    let sideResults = SideResults()

    /// Creates a repository for a transaction.
    ///
    /// - Parameter knownRules: the rules of pipelines that are open here. For other pipelines, the stored rules apply.
    init(_ transaction: StoreTransaction, now: Date = Date(), _ knownRules: [PipelineName: Rules] = [:]) {
        (self.transaction, self.now, self.knownRules) = (transaction, now, knownRules)
    }

    /// The rules of a pipeline: its ordering, its limits, and whether operations wait for a failed one.
    func rules(_ pipeline: PipelineName) throws -> Rules {
        if let known = knownRules[pipeline] { return known }
        var rules = Rules()
        try transaction.rows(QueueSQL.selectRecord, [.text(pipeline.rawValue)]) { rules = try Rules($0) }
        return rules
    }

    struct Rules: Equatable {
        var ordering = PipelineOrdering.flat
        var onFailure = FailurePolicy.setAside
        var maxCrashes = 5
        /// The number of operations of one lane that run at once, in `flat`; nil for any number.
        var laneLimit: Int?
        /// Whether each status change of its operations is recorded.
        var recordsTransitions = false

        /// Whether later operations wait for a failed one.
        var isBlockedByFailed: Bool { onFailure == .blockLane }
    }

    /// The operations and lanes of running handlers. They block other operations, although the store may no longer list
    /// them as active.
    struct RunningOperations {
        /// The operations, with their lanes.
        private(set) var operations: [Int64: Lane] = [:]
        private(set) var lanes: Set<Lane> = []

        mutating func insert(_ operation: Int64, in lane: Lane) {
            operations[operation] = lane
            lanes.insert(lane)
        }
    }

    struct Lane: Hashable {
        let pipeline: PipelineName
        private let text: UTF8Text

        init(pipeline: PipelineName, name: String) { (self.pipeline, text) = (pipeline, UTF8Text(name)) }

        var name: String { text.string }
    }

    /// The operations of one lane that may run concurrently.
    struct Group: Equatable {
        let sortKey: Double
        let commit: Int64
    }

    static let statusColumns = ["status", "awaitsPlace"]

    var version: StoredValue { .integer(transaction.number) }

    func set(_ status: OperationStatus, of numbers: some Sequence<Int64>) throws {
        for number in numbers {
            try transaction.run(QueueSQL.setStatus, [.integer(Int64(status.rawValue)), version, .integer(number)])
            try reportStatusChange(of: number, Self.statusColumns)
        }
    }

    /// Changes the status of an operation only if it is pending.
    ///
    /// - Parameter awaitsPlace: whether the operation waits because its lane runs as many operations as its limit
    ///   allows.
    func setIfPending(_ status: OperationStatus, of number: Int64, awaitsPlace: Bool = false) throws {
        let changed = try transaction.run(
            QueueSQL.setStatusIfPending,
            [.integer(Int64(status.rawValue)), awaitsPlace ? .integer(1) : .null, version, .integer(number)]
        )
        guard changed > 0 else { return }
        if awaitsPlace { sideResults.facts[.awaitedPlaces] = true }
        try reportStatusChange(of: number, Self.statusColumns)
    }

    /// The group whose turn it is in a lane; nil if the lane is empty.
    func firstGroup(of laneKey: [StoredValue], _ rules: Rules) throws -> Group? {
        var group: Group?
        let sql = QueueSQL.selectFirst(rules.ordering, countingFailed: rules.isBlockedByFailed)
        try transaction.rows(sql, laneKey) { row in
            group = Group(sortKey: try row.read(Double.self, at: 3), commit: try row.read(Int64.self, at: 2))
        }
        return group
    }

    // MARK: Ends

    /// Takes an operation off the queue, and releases the operations that have waited for it.
    func finish(_ number: Int64, _ result: OperationResult, in pipeline: PipelineName, _ lane: String) throws {
        let rules = try rules(pipeline)
        let laneKey: [StoredValue] = rules.ordering.isSerial ? [.text(pipeline.rawValue), .text(lane)] : []
        let before = rules.ordering == .commits ? try firstGroup(of: laneKey, rules) : nil
        try transaction.run(
            QueueSQL.archive,
            [
                .integer(number), .null, .text(result.rawValue), .real(now.timeIntervalSinceReferenceDate), version,
            ]
        )
        try removeFromQueue([number])
        if result != .completed { try endUniqueness(of: [number]) }
        try releaseDependants(of: number)
        // If the commit has operations left, these have had their turn already. One of them may wait for the token that
        // this operation has not taken.
        if let before, try firstGroup(of: laneKey, rules) == before {
            try offerPlace(in: lane, of: pipeline)
            return
        }
        try startNextInLane(lane, of: pipeline)
    }

    /// Deletes operations from the queue that have been copied to the finished operations.
    func removeFromQueue(_ numbers: [Int64]) throws {
        try transaction.report(inserted: numbers, of: FinishedOperation.self)
        if try areRunsQueued() { try endRuns(of: numbers) }
        for run in IDRanges(ascending: numbers.sorted()).ranges {
            if run.count == 1 {
                try transaction.run(QueueSQL.delete, [.integer(run.lowerBound)])
            } else {
                try transaction.run(QueueSQL.deleteRange, [.integer(run.lowerBound), .integer(run.upperBound)])
            }
        }
        try transaction.report(deleted: numbers, of: QueuedOperation.self)
        try recordTransitions(of: numbers)
    }

    /// Releases the dependants of an operation that is no longer queued, and deletes its dependencies, holds, item,
    /// trace and options.
    func releaseDependants(of number: Int64) throws {
        var isPrerequisite = false
        var isDependant = false
        var isHeld = false
        var hasItem = false
        var hasTrace = false
        var hasSettings = false
        try transaction.rows(QueueSQL.selectTies, [.integer(number)]) { row in
            isPrerequisite = try row.read(Bool.self, at: 0)
            isDependant = try row.read(Bool.self, at: 1)
            isHeld = try row.read(Bool.self, at: 2)
            hasItem = try row.read(Bool.self, at: 3)
            hasTrace = try row.read(Bool.self, at: 4)
            hasSettings = try row.read(Bool.self, at: 5)
        }
        if isPrerequisite && isDependant { try transferDependencies(of: number) }
        if isPrerequisite {
            try set(.pending, of: transaction.numbers(QueueSQL.selectWaitingDependants, [.integer(number)]))
        }
        if isPrerequisite || isDependant {
            let dependencies = try transaction.numbers(QueueSQL.selectDependencies, [.integer(number)])
            try transaction.run(QueueSQL.deleteDependencies, [.integer(number)])
            try transaction.report(deleted: dependencies, of: OperationDependency.self)
        }
        if isHeld {
            let holds = try transaction.numbers(QueueSQL.selectHolds, [.integer(number)])
            try transaction.run(QueueSQL.deleteHolds, [.integer(number)])
            try transaction.report(deleted: holds, of: OperationHold.self)
        }
        if hasItem { try delete([number], of: OperationItem.self, by: QueueSQL.deleteItem) }
        if hasTrace { try delete([number], of: OperationTrace.self, by: QueueSQL.deleteTrace) }
        if hasSettings {
            let settings = try transaction.numbers(QueueSQL.selectSettings, [.integer(number)])
            try delete(settings, of: OperationSettings.self, by: QueueSQL.deleteSettings)
        }
    }

    /// Makes the first waiting operations of a lane pending.
    ///
    /// - Parameter places: the number of operations that have ended in the lane, so that as many others may run. If the
    ///   ended one was not running, one operation more than allowed is looked at and waits again.
    func startNextInLane(_ lane: String, of pipeline: PipelineName, places: Int = 1) throws {
        let rules = try rules(pipeline)
        // Another process that made operations wait for a place may know a lane limit that this process does not know.
        guard try rules.ordering.isSerial || areAwaited() else { return }
        let laneKey: [StoredValue] = [.text(pipeline.rawValue), .text(lane)]
        guard rules.ordering.isSerial else {
            // The operations would only wait again, until tokens come.
            if try isLaneClosed(lane, of: pipeline) { return }
            let awaiting = try transaction.numbers(QueueSQL.selectAwaiting, laneKey + [.integer(Int64(places))])
            return try set(.pending, of: awaiting)
        }
        if rules.ordering == .commits {
            guard let first = try firstGroup(of: laneKey, rules) else { return }
            let values = laneKey + [.real(first.sortKey), .integer(first.commit)]
            try set(.pending, of: transaction.numbers(QueueSQL.selectWaitingOfCommit, values))
        } else {
            var first: Int64?
            let sql = QueueSQL.selectFirst(rules.ordering, countingFailed: rules.isBlockedByFailed)
            try transaction.rows(sql, laneKey) { row in
                if try row.read(Int.self, at: 1) == OperationStatus.waiting.rawValue {
                    first = try row.read(Int64.self, at: 0)
                }
            }
            if let first { try set(.pending, of: [first]) }
        }
    }

    /// Makes the best operation of a lane pending that waits for a place or a token, if the lane may have one. The
    /// operation that was to take it cannot start now, has left the queue, or ranks lower than before.
    ///
    /// - Returns: whether another operation may take the place.
    @discardableResult
    func offerPlace(in lane: String, of pipeline: PipelineName) throws -> Bool {
        // Without a token, the next opening of the lane starts other operations.
        guard try areAwaited(), try !isLaneClosed(lane, of: pipeline) else { return false }
        try releaseAwaiting(1, in: lane, of: pipeline)
        return true
    }

    // MARK: Holds

    /// Holds an operation until a date, as the pause before its next attempt.
    func startPause(of number: Int64, until: Date) throws {
        sideResults.facts[.ties] = true
        let name = HoldName.retry
        let known = try transaction.integer(QueueSQL.selectHoldNamed, [.integer(number), .text(name)])
        let id = try known ?? transaction.newID()
        try transaction.run(
            QueueSQL.upsertHold,
            [
                .integer(id), .integer(number), .text(name), .real(until.timeIntervalSinceReferenceDate),
                .real(now.timeIntervalSinceReferenceDate), version,
            ]
        )
        if known == nil {
            try transaction.report(inserted: id, of: OperationHold.self)
        } else {
            try transaction.report(updated: id, ["until", "since"], of: OperationHold.self)
        }
    }

    /// Removes due holds. Returns whether there were any.
    func releaseDueHolds() throws -> Bool {
        var due: [(hold: Int64, operation: Int64)] = []
        try transaction.rows(QueueSQL.selectDueHolds, [.real(now.timeIntervalSinceReferenceDate)]) { row in
            due.append((try row.read(Int64.self, at: 0), try row.read(Int64.self, at: 1)))
        }
        for (hold, operation) in due {
            try delete([hold], of: OperationHold.self, by: QueueSQL.deleteHold)
            try reevaluate(operation)
        }
        return !due.isEmpty
    }

    /// Makes an operation pending if it is waiting or held, and does not wait for a constraint.
    func reevaluate(_ number: Int64) throws {
        guard let state = try state(of: number), state.constraint == nil,
            state.status == .waiting || state.status == .held
        else { return }
        try set(.pending, of: [number])
    }

    /// Makes operations pending if it is unknown which of them may still have to wait.
    ///
    /// - Complexity: O(held operations, ordered lanes, and waiting operations without an order).
    func reevaluateAll() throws {
        try set(.pending, of: transaction.numbers(QueueSQL.selectAllHeld, []))
        for pipeline in try transaction.names() {
            let name = StoredValue.text(pipeline.rawValue)
            guard try rules(pipeline).ordering.isSerial else {
                try set(.pending, of: transaction.numbers(QueueSQL.selectWaiting, [name]))
                continue
            }
            // In an ordered lane, only the first operations may no longer have to wait.
            var lane: String? = ""
            while let current = lane {
                try startNextInLane(current, of: pipeline)
                lane = nil
                try transaction.rows(QueueSQL.selectNextLane, [name, .text(current)]) {
                    lane = try $0.read(String.self, at: 0)
                }
            }
        }
    }

    /// Makes the owners of deleted holds or dependencies pending.
    ///
    /// - Parameter owner: the operation that a deleted row has kept waiting.
    func reevaluate<Row>(afterDeletesOf commit: ModelChanges<Row>, _ owner: (Row) -> Int64) throws {
        guard !commit.deleted.isEmpty else { return }
        guard let rows = commit.deletedRows else { return try reevaluateAll() }
        for row in rows { try reevaluate(owner(row)) }
    }

    // MARK: Requests

    struct OperationState {
        var pipeline: PipelineName
        var lane: String
        var status: OperationStatus
        var request: OperationRequest?
        var constraint: String?
        var attempts: Int
    }

    /// The state of an operation; nil if it is not queued.
    func state(of number: Int64) throws -> OperationState? {
        var result: OperationState?
        try transaction.rows(QueueSQL.selectLane, [.integer(number)]) { row in
            result = OperationState(
                pipeline: PipelineName(try row.read(String.self, at: 0)),
                lane: try row.read(String.self, at: 1),
                status: try row.read(OperationStatus.self, at: 2),
                request: try row.request(at: 3),
                constraint: try row.read(String?.self, at: 4),
                attempts: try row.read(Int.self, at: 5)
            )
        }
        return result
    }

    /// Carries out a pending request, unless the operation runs. Then the request is carried out when the attempt ends.
    func applyRequest(of number: Int64) throws {
        guard let state = try state(of: number) else { return }
        switch state.request {
        case nil:
            try reevaluate(number)
            // The operation's position in its lane may have changed.
            try startNextInLane(state.lane, of: state.pipeline)
        case .skip, .complete:
            guard state.status != .active else { return }
            let result: OperationResult = state.request == .skip ? .skipped : .completed
            try finish(number, result, in: state.pipeline, state.lane)
            sideResults.reports.append((number, state.pipeline, .finished(result)))
        case .retry:
            guard state.status != .active else { return }
            try retry(number)
            // The same commit may have lowered the priority.
            try offerPlace(in: state.lane, of: state.pipeline)
        }
    }

    /// Makes an operation pending as if it had never been tried.
    func retry(_ number: Int64) throws {
        let pause = try transaction.integer(QueueSQL.selectHoldNamed, [.integer(number), .text(HoldName.retry)])
        if let pause { try delete([pause], of: OperationHold.self, by: QueueSQL.deleteHold) }
        try transaction.run(QueueSQL.retry, [version, .integer(number)])
        try reportStatusChange(of: number, QueueSQL.retryColumns)
    }

    /// Resets an operation to the state of a newly queued one, whatever its state was when it was deleted.
    func reset(_ number: Int64) throws {
        try transaction.run(QueueSQL.reset, [version, .integer(number)])
        try reportStatusChange(of: number, QueueSQL.requeueColumns)
    }
}

extension OperationRepository.Rules {
    /// Reads the rules of a ``PipelineRecord``.
    init(_ row: RowReader) throws {
        ordering = try row.read(PipelineOrdering.self, at: 1)
        onFailure = try row.read(FailurePolicy.self, at: 2)
        maxCrashes = try row.read(Int.self, at: 3)
        recordsTransitions = try row.read(Bool.self, at: 5)
        laneLimit = try row.read(Int?.self, at: 6)
    }
}

/// The names of the holds that the engine creates.
enum HoldName {
    static let start = "start"
    static let retry = "retry"
    static let all: Set = [start, retry]
}

extension RowReader {
    /// Reads a request; nil if no request is stored.
    func request(at column: Int32) throws -> OperationRequest? {
        try read(Int64?.self, at: column).flatMap { OperationRequest(rawValue: Int($0)) }
    }
}
