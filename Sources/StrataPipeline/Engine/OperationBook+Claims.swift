import Foundation
import Strata

extension OperationBook {
    /// Which operations of a pipeline may be taken.
    struct Selection {
        /// What their keys begin with; nil for any key, and none.
        var keys: String?
        /// Whether those are meant that ran when their process ended, or all others.
        var isSuspected = false
    }

    /// Takes operations of a pipeline, the best first, at most so many. Those that turn out to have to wait are marked.
    ///
    /// - Returns: what was taken, and whether there may be more to take.
    func claim(
        _ limit: Int,
        of pipeline: PipelineName,
        _ selection: Selection = Selection(),
        by worker: Int64,
        besides busy: Busy = Busy()
    ) throws -> (claims: [ClaimedOperation], isDry: Bool) {
        var looks = Self.lookLimit
        return try claim(limit, of: pipeline, selection, by: worker, besides: busy, &looks)
    }

    /// - Parameters:
    ///   - isTaking: whether to take operations that are ready. Otherwise none is taken, and `isDry` is false if one could be.
    ///   - looks: how many operations may be looked at still.
    func claim(
        _ limit: Int,
        of pipeline: PipelineName,
        _ selection: Selection = Selection(),
        by worker: Int64,
        besides busy: Busy,
        isTaking: Bool = true,
        _ looks: inout Int
    ) throws -> (claims: [ClaimedOperation], isDry: Bool) {
        let rules = try rules(pipeline)
        var claims: [ClaimedOperation] = []
        var occupancy = try rules.laneLimit.map { try Occupancy(limit: $0, of: pipeline, busy, transaction) }
        var isMarked = false
        // What only this process keeps from being claimed stays as it is: somebody else may claim it, and this one may end at any moment.
        var passed: Set<Int64> = []
        while claims.count < limit, looks > 0 {
            // One more than needed says whether there are more.
            let count = min(limit - claims.count, 255) + 1 + passed.count
            let (all, unreadable) = try candidates(count, of: pipeline, selection)
            // One that nobody can read keeps none of the others.
            for (number, message) in unreadable {
                try fail(number, message)
                isMarked = true
            }
            let candidates = all.filter { !passed.contains($0.number) }
            if candidates.isEmpty, unreadable.isEmpty { return (claims, true) }
            var ready: [Candidate] = []
            var failing: (number: Int64, prerequisite: Int64)?
            // One that is worse than those before, and better than those to come, may have its turn by now.
            var isStale = false
            for candidate in candidates
            where claims.count + ready.count < limit && looks > 0 && failing == nil && !isStale {
                looks -= 1
                switch try look(at: candidate, of: pipeline, rules, busy, &occupancy) {
                case .ready: ready.append(candidate)
                case .passed: passed.insert(candidate.number)
                case .waits(let hasPassedOn): (isMarked, isStale) = (true, hasPassedOn)
                // What is known of the others may not be so any more.
                case .fails(let prerequisite): failing = (candidate.number, prerequisite)
                }
            }
            if !isTaking, !ready.isEmpty { return ([], false) }
            claims += try take(ready, of: pipeline, by: worker)
            if let (number, prerequisite) = failing {
                try fail(number, Self.reason(prerequisite))
                isMarked = true
            }
        }
        // Where nothing but handlers of this process is in the way, their ends are waited for.
        return (claims, looks == 0 && claims.isEmpty && !isMarked && !passed.isEmpty)
    }

    /// How many operations one transaction looks at, so that others have their turn.
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

        init(_ row: RowReader, hasTies: Bool) throws {
            number = try row.read(Int64.self, at: 0)
            lane = try row.read(String.self, at: 1)
            group = Group(sortKey: try row.read(Double.self, at: 2), commit: try row.read(Int64.self, at: 3))
            attempts = try row.read(Int.self, at: 4)
            epoch = try row.read(Int64.self, at: 5)
            type = try row.read(String.self, at: 6)
            payload = try row.read(Data.self, at: 7)
            payloadVersion = try row.read(Int.self, at: 8)
            enqueuedAt = try row.read(Date?.self, at: 9)
            key = try row.read(String?.self, at: 10)
            heldUntil = hasTies ? try row.read(Date?.self, at: 11) : nil
            isDependent = hasTies ? try row.read(Bool.self, at: 12) : false
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
                enqueuedAt: enqueuedAt
            )
        }
    }

    /// The best of those that may be claimed, and such among them as cannot be read, with why.
    private func candidates(
        _ count: Int,
        of pipeline: PipelineName,
        _ selection: Selection
    ) throws -> (candidates: [Candidate], unreadable: [(number: Int64, message: String)]) {
        let hasTies = try haveTies()
        let sql = QueueSQL.selectCandidates(selection, hasTies: hasTies)
        var candidates: [Candidate] = []
        var unreadable: [(number: Int64, message: String)] = []
        let range = selection.keys.map { Self.range(of: $0) } ?? []
        try transaction.rows(sql, [.text(pipeline.rawValue), .integer(Int64(count))] + range) { row in
            do {
                candidates.append(try Candidate(row, hasTies: hasTies))
            } catch let error as StrataError where error.code == .undecodable {
                unreadable.append((try row.read(Int64.self, at: 0), "The operation cannot be read. \(error.message)"))
            }
        }
        return (candidates, unreadable)
    }

    /// Whether an operation of a pipeline is pending whose key begins so.
    func isPending(_ pipeline: PipelineName, keys: String) throws -> Bool {
        try [false, true].contains { isSuspected in
            try !candidates(1, of: pipeline, Selection(keys: keys, isSuspected: isSuspected)).candidates.isEmpty
        }
    }

    /// The keys that begin with a text: from this one, and before the next.
    private static func range(of prefix: String) -> [StoredValue] {
        // No character is greater than the last one of Unicode.
        [.text(prefix), .text(prefix + "\u{10FFFF}")]
    }

    /// What came of looking at an operation that may be claimed.
    private enum Look {
        case ready
        /// It has to wait, and is marked so; whether another one has its place in the lane instead.
        case waits(hasPassedOn: Bool)
        /// It is to fail with what it depends on, and others may have to with it.
        case fails(prerequisite: Int64)
        /// A handler of this process stands in its way.
        case passed
    }

    private func look(
        at candidate: Candidate,
        of pipeline: PipelineName,
        _ rules: Rules,
        _ busy: Busy,
        _ occupancy: inout Occupancy?
    ) throws -> Look {
        let number = candidate.number
        if let hold = candidate.heldUntil, hold > now {
            try mark(.held, number)
            return .waits(hasPassedOn: try passOnPlace(of: candidate, in: pipeline, occupancy))
        }
        if candidate.isDependent {
            if let failed = try transaction.integer(QueueSQL.selectFailedPrerequisite, [.integer(number)]) {
                return .fails(prerequisite: failed)
            }
            try mark(.waiting, number)
            return .waits(hasPassedOn: try passOnPlace(of: candidate, in: pipeline, occupancy))
        }
        if rules.ordering.isSerial, try !isFirst(number, candidate.group, candidate.lane, of: pipeline, rules) {
            try mark(.waiting, number)
            return .waits(hasPassedOn: false)
        }
        // A handler that has lost its operation ends soon, or has just committed its end.
        let lane = Lane(pipeline: pipeline, name: candidate.lane)
        if busy.operations[number] != nil || rules.ordering.isExclusive && busy.lanes.contains(lane) {
            return .passed
        }
        guard let place = occupancy?.take(in: candidate.lane) else { return .ready }
        if case .waits = place { try mark(.waiting, number, awaitsPlace: true) }
        return place
    }

    /// Lets another one of a lane have the place for which an operation was looked at that cannot take it.
    ///
    /// - Returns: whether there may be another one.
    private func passOnPlace(of candidate: Candidate, in pipeline: PipelineName, _ occupancy: Occupancy?) throws -> Bool
    {
        guard let occupancy, !occupancy.isFull(candidate.lane), try areAwaited() else { return false }
        try goOn(pipeline, candidate.lane)
        return true
    }

    /// How many operations of each lane run, where only some may at once.
    private struct Occupancy {
        let limit: Int
        private var active: [UTF8Text: Int] = [:]
        /// The handlers of this process of which the store does not know any more.
        private var ending: [UTF8Text: Int] = [:]
        /// How many were passed, which stay pending, so that the others need not.
        private var passed: [UTF8Text: Int] = [:]

        init(limit: Int, of pipeline: PipelineName, _ busy: Busy, _ transaction: StoreTransaction) throws {
            self.limit = limit
            var numbers: Set<Int64> = []
            var active: [UTF8Text: Int] = [:]
            try transaction.rows(QueueSQL.selectActiveLanes, [.text(pipeline.rawValue)]) { row in
                numbers.insert(try row.read(Int64.self, at: 0))
                active[UTF8Text(try row.read(String.self, at: 1)), default: 0] += 1
            }
            self.active = active
            for (number, lane) in busy.operations where lane.pipeline == pipeline && !numbers.contains(number) {
                ending[UTF8Text(lane.name), default: 0] += 1
            }
        }

        func isFull(_ lane: String) -> Bool { active[UTF8Text(lane), default: 0] >= limit }

        /// Takes a place for one more, if there is one.
        mutating func take(in lane: String) -> Look {
            let lane = UTF8Text(lane)
            let taken = active[lane, default: 0]
            if taken + passed[lane, default: 0] >= limit { return .waits(hasPassedOn: false) }
            if taken + ending[lane, default: 0] >= limit {
                passed[lane, default: 0] += 1
                return .passed
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
        let place: [StoredValue] = [.text(pipeline.rawValue), .text(lane)]
        if rules.ordering == .commits { return try firstGroup(of: place, rules) == group }
        let sql = QueueSQL.selectFirst(rules.ordering, countingFailed: rules.isBlockedByFailed)
        guard try transaction.integer(sql, place) == number else { return false }
        // What was inserted before the one that runs waits for its end all the same.
        return try transaction.integer(QueueSQL.selectActiveOfLane, place) == nil
    }

    /// Claims operations that are ready: those whose ids follow each other by one statement, which costs half of one for each.
    private func take(
        _ ready: [Candidate],
        of pipeline: PipelineName,
        by worker: Int64
    ) throws -> [ClaimedOperation] {
        var untaken: Set<Int64> = []
        for run in NumberRuns(ascending: ready.map(\.number).sorted()).runs {
            let values: [StoredValue] = [
                .integer(run.lowerBound), .integer(run.upperBound), .integer(worker),
                .real(now.timeIntervalSinceReferenceDate), version,
            ]
            let changed = try transaction.run(run.count == 1 ? QueueSQL.claim : QueueSQL.claimRange, values)
            guard changed < run.count else { continue }
            // Somebody's trigger may have changed its status.
            untaken.formUnion(Set(run).subtracting(try transaction.numbers(QueueSQL.selectTaken, values)))
        }
        let taken = untaken.isEmpty ? ready : ready.filter { !untaken.contains($0.number) }
        try noteSteps(of: taken.map(\.number), Self.claimColumns)
        return taken.map { $0.claimed(by: worker, of: pipeline) }
    }

    private static let claimColumns = ["status", "worker", "epoch", "attempts", "startedAt", "progress"]
}
