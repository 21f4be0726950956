import Foundation
import Strata

extension OperationRepository {
    /// A filter of the operations of a pipeline that may be claimed.
    struct Selection {
        /// The prefix of the keys; nil for any key and for operations without a key.
        var keys: String?
        /// Whether to select suspected operations, which ran when their process ended, or all others.
        var isSuspected = false
        /// The types of payloads; nil for all. Operations of other types stay pending for other processes.
        var types: [String]?
        /// The rate limits of lanes; nil if no lane has one.
        var laneRates: LaneRates?

        func contains(type: String) -> Bool { types?.contains { $0.hasSameBytes(as: type) } ?? true }
    }

    /// Claims at most `limit` operations of a pipeline, best first. Operations that must wait are marked as waiting or
    /// held.
    ///
    /// - Returns: the claims, and whether nothing more can be claimed.
    func claim(
        _ limit: Int,
        of pipeline: PipelineName,
        _ selection: Selection = Selection(),
        by worker: Int64,
        besides running: RunningOperations = RunningOperations()
    ) throws -> (claims: [ClaimedOperation], isDry: Bool) {
        var looks = Self.lookLimit
        return try claim(limit, of: pipeline, selection, by: worker, besides: running, &looks)
    }

    /// Claims operations with a limit of lookups that several calls share.
    ///
    /// - Parameters:
    ///   - isTaking: whether to claim ready operations. If false, no operation is claimed, and `isDry` is false if one
    ///     could be.
    ///   - looks: how many more operations may be looked at.
    func claim(
        _ limit: Int,
        of pipeline: PipelineName,
        _ selection: Selection = Selection(),
        by worker: Int64,
        besides running: RunningOperations,
        isTaking: Bool = true,
        _ looks: inout Int
    ) throws -> (claims: [ClaimedOperation], isDry: Bool) {
        var tokens = selection.laneRates.map { LaneTokens($0, of: pipeline) }
        let found = try search(limit, of: pipeline, selection, by: worker, running, isTaking: isTaking, &looks, &tokens)
        try tokens?.store(found.claims, self)
        return found
    }

    private func search(
        _ limit: Int,
        of pipeline: PipelineName,
        _ selection: Selection,
        by worker: Int64,
        _ running: RunningOperations,
        isTaking: Bool,
        _ looks: inout Int,
        _ tokens: inout LaneTokens?
    ) throws -> (claims: [ClaimedOperation], isDry: Bool) {
        let rules = try rules(pipeline)
        var claims: [ClaimedOperation] = []
        var occupancy = try rules.laneLimit.map { try Occupancy(limit: $0, of: pipeline, running, transaction) }
        var isMarked = false
        // Operations that only this process's handlers keep from being claimed stay pending. Another process may claim
        // them, and this process may end at any moment.
        var blockedHere: Set<Int64> = []
        // Most pipelines have no operations of other types, so types are compared in SQL only after one was found.
        var comparesTypes = false
        // Whether places were offered, and none has passed to other operations since.
        var areOffered = false
        while claims.count < limit, looks > 0 {
            // One more than needed shows whether there are more.
            let count = min(limit - claims.count, 255) + 1 + blockedHere.count
            let found = try candidates(count, of: pipeline, selection, comparesTypes: comparesTypes)
            // An operation that cannot be read must not hold up the others.
            for (number, message) in found.unreadable {
                try fail(number, message)
                (isMarked, areOffered) = (true, false)
            }
            comparesTypes = comparesTypes || found.hasOtherTypes
            let candidates =
                blockedHere.isEmpty
                ? found.candidates : found.candidates.filter { !blockedHere.contains($0.number) }
            if candidates.isEmpty, found.unreadable.isEmpty {
                if found.hasOtherTypes { continue }
                if comparesTypes, !areOffered, let types = selection.types, let occupancy {
                    areOffered = true
                    if try offerPlaces(of: pipeline, to: types, occupancy) { continue }
                }
                return (claims, true)
            }
            var ready: [Candidate] = []
            var failing: (number: Int64, prerequisite: Int64)?
            var expired: [Int64] = []
            // Set when a place in a lane passes to another operation. This operation may rank before the remaining
            // candidates, so they are read again.
            var isStale = false
            for candidate in candidates
            where claims.count + ready.count < limit && looks > 0 && failing == nil && !isStale {
                looks -= 1
                switch try look(at: candidate, of: pipeline, rules, running, &occupancy, &tokens) {
                case .ready: ready.append(candidate)
                case .blockedHere: blockedHere.insert(candidate.number)
                case .waits(let isPlaceTaken): (isMarked, isStale) = (true, isPlaceTaken)
                // The failure may change the other candidates, so they are read again.
                case .fails(let prerequisite): failing = (candidate.number, prerequisite)
                case .isExpired: expired.append(candidate.number)
                }
            }
            if !isTaking, !ready.isEmpty { return ([], false) }
            claims += try take(ready, of: pipeline, by: worker)
            if let (number, prerequisite) = failing {
                try fail(number, Self.reason(prerequisite))
                isMarked = true
            }
            if !expired.isEmpty {
                for number in expired { try expire(number) }
                // One transaction ends about one portion, as in `expireDue`.
                looks -= expired.count * (Self.lookLimit / Self.expiryPortion - 1)
                isMarked = true
            }
            // The place may have passed to an operation of another type.
            if isStale || failing != nil || !expired.isEmpty { areOffered = false }
        }
        // If only handlers of this process are in the way, the engine waits for their ends.
        return (claims, looks == 0 && claims.isEmpty && !isMarked && !blockedHere.isEmpty)
    }

    /// The number of operations that one transaction looks at, so that other commits are not held up.
    static let lookLimit = 2000

    /// An operation that may be claimed.
    private struct Candidate {
        let number: Int64
        let group: Group
        let lane: String
        let attempts: Int
        let epoch: Int64
        let type: String
        let payload: Data
        let payloadVersion: Int
        let enqueuedAt: Date?
        let key: String?
        let heldUntil: Date?
        let isDependent: Bool
        let expiresAt: Date?
        let options: AttemptOptions?

        static let typeColumn: Int32 = 6

        init(_ row: RowReader, hasTies: Bool) throws {
            number = try row.read(Int64.self, at: 0)
            lane = try row.read(String.self, at: 1)
            group = Group(sortKey: try row.read(Double.self, at: 2), commit: try row.read(Int64.self, at: 3))
            attempts = try row.read(Int.self, at: 4)
            epoch = try row.read(Int64.self, at: 5)
            type = try row.read(String.self, at: Self.typeColumn)
            payload = try row.read(Data.self, at: 7)
            payloadVersion = try row.read(Int.self, at: 8)
            enqueuedAt = try row.read(Date?.self, at: 9)
            key = try row.read(String?.self, at: 10)
            heldUntil = hasTies ? try row.read(Date?.self, at: 11) : nil
            isDependent = hasTies ? try row.read(Bool.self, at: 12) : false
            expiresAt = hasTies ? try row.read(Date?.self, at: 13) : nil
            options = hasTies ? try row.read(AttemptOptions?.self, at: 14) : nil
        }

        func claimed(by worker: Int64, of pipeline: PipelineName) -> ClaimedOperation {
            ClaimedOperation(
                claim: Claim(operation: number, worker: worker, epoch: epoch + 1),
                pipeline: pipeline,
                lane: lane,
                attempt: attempts + 1,
                type: type,
                payload: payload,
                payloadVersion: payloadVersion,
                key: key,
                enqueuedAt: enqueuedAt,
                options: options
            )
        }
    }

    /// The result of a search for claimable operations.
    private struct Candidates {
        /// The claimable operations, best first.
        var candidates: [Candidate] = []
        /// Operations that cannot be read, with the error.
        var unreadable: [(number: Int64, message: String)] = []
        /// Whether there are operations with other types of payloads than the selected ones.
        var hasOtherTypes = false
    }

    /// Searches for the best claimable operations.
    ///
    /// - Parameter comparesTypes: whether the statement leaves out other types of payloads. If not, they count towards
    ///   `count`.
    /// - Complexity: O(`count`). If the statement leaves out other types, also O(operations of these types).
    private func candidates(
        _ count: Int,
        of pipeline: PipelineName,
        _ selection: Selection,
        comparesTypes: Bool
    ) throws -> Candidates {
        let hasTies = try haveTies()
        var filter = selection
        if !comparesTypes { filter.types = nil }
        var values: [StoredValue] = [.text(pipeline.rawValue), .integer(Int64(count))]
        if let keys = filter.keys { values += Self.range(of: keys) }
        if let types = filter.types { values += types.map { StoredValue.text($0) } }
        var found = Candidates()
        try transaction.rows(QueueSQL.selectCandidates(filter, hasTies: hasTies), values) { row in
            var candidate: Candidate?
            var failure: StrataError?
            do {
                candidate = try Candidate(row, hasTies: hasTies)
            } catch let error as StrataError where error.code == .undecodable {
                failure = error
            }
            if !comparesTypes, selection.types != nil,
                let type = candidate?.type ?? (try? row.read(String.self, at: Candidate.typeColumn)),
                !selection.contains(type: type)
            {
                found.hasOtherTypes = true
                sideResults.unhandledTypes[pipeline, default: []].insert(UTF8Text(type))
            } else if let candidate {
                found.candidates.append(candidate)
            } else if let failure {
                let message = "The operation cannot be read. \(failure.message)"
                found.unreadable.append((try row.read(Int64.self, at: 0), message))
            }
        }
        return found
    }

    /// Whether an operation of a pipeline is pending whose key begins with a prefix and whose payload has one of these
    /// types.
    ///
    /// - Complexity: O(operations of other types).
    func isPending(_ pipeline: PipelineName, keys: String?, types: [String]?) throws -> Bool {
        try [false, true].contains { isSuspected in
            let selection = Selection(keys: keys, isSuspected: isSuspected, types: types)
            let found = try candidates(1, of: pipeline, selection, comparesTypes: true)
            return !found.candidates.isEmpty || !found.unreadable.isEmpty
        }
    }

    /// The range of the keys that begin with a prefix: from the first bound up to, but not including, the second.
    private static func range(of prefix: String) -> [StoredValue] {
        // No character is greater than the last one of Unicode.
        [.text(prefix), .text(prefix + "\u{10FFFF}")]
    }

    /// The result of looking at an operation that may be claimed.
    private enum Look {
        case ready
        /// The operation must wait and is marked accordingly. The value tells whether another operation takes its place
        /// in the lane.
        case waits(isPlaceTaken: Bool)
        /// The operation fails together with its prerequisite, and other operations may fail with it.
        case fails(prerequisite: Int64)
        /// The operation was never started, and its time is over.
        case isExpired
        /// A handler of this process is in the way.
        case blockedHere
    }

    private func look(
        at candidate: Candidate,
        of pipeline: PipelineName,
        _ rules: Rules,
        _ running: RunningOperations,
        _ occupancy: inout Occupancy?,
        _ tokens: inout LaneTokens?
    ) throws -> Look {
        let number = candidate.number
        if let date = candidate.expiresAt, date <= now, candidate.epoch == 0 { return .isExpired }
        // An operation that cannot start leaves its place or token to another one. In `fifo` and `lifo`, the others of
        // the lane wait for this one.
        let isOffering = !rules.ordering.isExclusive && (occupancy != nil || tokens != nil)
        if let hold = candidate.heldUntil, hold > now {
            try setIfPending(.held, of: number)
            return .waits(isPlaceTaken: try isOffering && offerPlace(of: candidate, in: pipeline, occupancy))
        }
        if candidate.isDependent {
            if let failed = try transaction.integer(QueueSQL.selectFailedPrerequisite, [.integer(number)]) {
                return .fails(prerequisite: failed)
            }
            try setIfPending(.waiting, of: number)
            return .waits(isPlaceTaken: try isOffering && offerPlace(of: candidate, in: pipeline, occupancy))
        }
        if rules.ordering.isSerial, try !isFirst(number, candidate.group, candidate.lane, of: pipeline, rules) {
            try setIfPending(.waiting, of: number)
            return .waits(isPlaceTaken: false)
        }
        // The handler in the way has lost its operation and ends soon, or has just committed its end.
        let lane = Lane(pipeline: pipeline, name: candidate.lane)
        if running.operations[number] != nil || rules.ordering.isExclusive && running.lanes.contains(lane) {
            return .blockedHere
        }
        if tokens != nil, try !tokens!.hasToken(in: candidate.lane, self) {
            tokens!.wait(in: candidate.lane)
            // In `fifo` and `lifo`, the lane's next opening looks at its first operation, whichever this is then.
            try setIfPending(.waiting, of: number, awaitsPlace: !rules.ordering.isExclusive)
            return .waits(isPlaceTaken: false)
        }
        let place = occupancy?.take(in: candidate.lane) ?? .ready
        if case .waits = place { try setIfPending(.waiting, of: number, awaitsPlace: true) }
        if case .ready = place { tokens?.take(in: candidate.lane) }
        return place
    }

    /// Offers the place in a lane, or its token, to another operation, if the candidate cannot take it.
    ///
    /// - Returns: whether another operation may take the place.
    private func offerPlace(of candidate: Candidate, in pipeline: PipelineName, _ occupancy: Occupancy?) throws -> Bool
    {
        guard occupancy.map({ !$0.isFull(candidate.lane) }) ?? true else { return false }
        return try offerPlace(in: candidate.lane, of: pipeline)
    }

    /// Offers the free places of all lanes to operations with these types of payloads. The end of an operation may have
    /// offered its place to one of another type, which no process may take.
    ///
    /// - Returns: whether an operation may take a place.
    /// - Complexity: O(lanes in which operations wait for a place). In lanes with a free place, also O(operations of
    ///   other types that wait there).
    private func offerPlaces(of pipeline: PipelineName, to types: [String], _ occupancy: Occupancy) throws -> Bool {
        guard try areAwaited() else { return false }
        let sql = QueueSQL.selectAwaiting(types: types.count)
        let typeValues = types.map { StoredValue.text($0) }
        var isOffered = false
        // No lane comes before the one without a name.
        var lane: String? = ""
        while let current = lane {
            let laneKey: [StoredValue] = [.text(pipeline.rawValue), .text(current)]
            let places = occupancy.freePlaces(in: current)
            if places > 0, try !isLaneClosed(current, of: pipeline) {
                let offered = try transaction.numbers(sql, laneKey + [.integer(Int64(places))] + typeValues)
                try set(.pending, of: offered)
                isOffered = isOffered || !offered.isEmpty
            }
            lane = nil
            try transaction.rows(QueueSQL.selectNextAwaitedLane, laneKey) { lane = try $0.read(String.self, at: 0) }
        }
        return isOffered
    }

    /// The number of running operations of each lane, for pipelines with a lane limit.
    private struct Occupancy {
        let limit: Int
        private var active: [UTF8Text: Int] = [:]
        /// Handlers of this process that still run, although the store no longer counts their operations as active.
        private var ending: [UTF8Text: Int] = [:]
        /// The number of operations that a handler of this process blocks. They stay pending and keep their place, so
        /// that the others need not stay pending.
        private var blockedHere: [UTF8Text: Int] = [:]

        init(limit: Int, of pipeline: PipelineName, _ running: RunningOperations, _ transaction: StoreTransaction)
            throws
        {
            self.limit = limit
            var numbers: Set<Int64> = []
            var active: [UTF8Text: Int] = [:]
            try transaction.rows(QueueSQL.selectActiveLanes, [.text(pipeline.rawValue)]) { row in
                numbers.insert(try row.read(Int64.self, at: 0))
                active[UTF8Text(try row.read(String.self, at: 1)), default: 0] += 1
            }
            self.active = active
            for (number, lane) in running.operations where lane.pipeline == pipeline && !numbers.contains(number) {
                ending[UTF8Text(lane.name), default: 0] += 1
            }
        }

        func isFull(_ lane: String) -> Bool { active[UTF8Text(lane), default: 0] >= limit }

        /// The number of operations that ``take(in:)`` lets start now.
        func freePlaces(in lane: String) -> Int {
            let lane = UTF8Text(lane)
            let blocked = max(blockedHere[lane, default: 0], ending[lane, default: 0])
            return max(limit - active[lane, default: 0] - blocked, 0)
        }

        /// Takes a place in a lane, if one is free.
        mutating func take(in lane: String) -> Look {
            let lane = UTF8Text(lane)
            let taken = active[lane, default: 0]
            if taken + blockedHere[lane, default: 0] >= limit { return .waits(isPlaceTaken: false) }
            if taken + ending[lane, default: 0] >= limit {
                blockedHere[lane, default: 0] += 1
                return .blockedHere
            }
            active[lane, default: 0] += 1
            return .ready
        }
    }

    /// Whether it is an operation's turn in its lane.
    private func isFirst(
        _ number: Int64,
        _ group: Group,
        _ lane: String,
        of pipeline: PipelineName,
        _ rules: Rules
    ) throws -> Bool {
        let laneKey: [StoredValue] = [.text(pipeline.rawValue), .text(lane)]
        if rules.ordering == .commits { return try firstGroup(of: laneKey, rules) == group }
        let sql = QueueSQL.selectFirst(rules.ordering, countingFailed: rules.isBlockedByFailed)
        guard try transaction.integer(sql, laneKey) == number else { return false }
        // An operation that now comes before the running one still waits for the running one's end.
        return try transaction.integer(QueueSQL.selectActiveOfLane, laneKey) == nil
    }

    /// Claims ready operations. Operations with consecutive ids are claimed by one statement, which costs half as much
    /// per operation.
    private func take(
        _ ready: [Candidate],
        of pipeline: PipelineName,
        by worker: Int64
    ) throws -> [ClaimedOperation] {
        var untaken: Set<Int64> = []
        for run in IDRanges(ascending: ready.map(\.number).sorted()).ranges {
            let values: [StoredValue] = [
                .integer(run.lowerBound), .integer(run.upperBound), .integer(worker),
                .real(now.timeIntervalSinceReferenceDate), version,
            ]
            let changed = try transaction.run(run.count == 1 ? QueueSQL.claim : QueueSQL.claimRange, values)
            guard changed < run.count else { continue }
            // A trigger of the application may have changed the status.
            untaken.formUnion(Set(run).subtracting(try transaction.numbers(QueueSQL.selectTaken, values)))
        }
        let taken = untaken.isEmpty ? ready : ready.filter { !untaken.contains($0.number) }
        try reportStatusChanges(of: taken.map(\.number), Self.claimColumns)
        return taken.map { $0.claimed(by: worker, of: pipeline) }
    }

    /// Adds the stored traces to claimed operations.
    ///
    /// - Complexity: one statement for each operation, if any operation has a trace.
    func withTraces(_ claims: [ClaimedOperation]) throws -> [ClaimedOperation] {
        guard !claims.isEmpty, try haveItems() else { return claims }
        var claims = claims
        for index in claims.indices {
            try transaction.rows(QueueSQL.selectTrace, [.integer(claims[index].claim.operation)]) { row in
                claims[index] = claims[index].with(trace: try row.read(String.self, at: 0))
            }
        }
        return claims
    }

    private static let claimColumns = ["status", "worker", "epoch", "attempts", "startedAt", "progress"]
}
