public import Foundation
public import Strata

/// Why an operation does not run.
public enum Blocker: Hashable, Sendable {
    /// Another operation that it depends on is queued.
    case dependency(ObjectID<QueuedOperation>)
    /// Another operation of its lane has its turn before it.
    case lane(ObjectID<QueuedOperation>)
    /// It is not to start before a moment.
    case hold(String, until: Date)
    /// It waits for a constraint, or for a person.
    case constraint(Constraint)
    /// It has failed for good.
    case failed(String)
}

extension QueuedOperation {
    /// What keeps this operation from running, as its context sees it: nothing where it runs, or may run as soon as its pipeline is open, has a
    /// free slot and is not suspended.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument` where it belongs to no context; what the store reports.
    /// - Complexity: O(its dependencies and holds), and a look at the first of its lane.
    public func blockers() throws -> [Blocker] {
        guard let context = owningContext else { throw PipelineError.withoutContext }
        switch status {
        case .active: return []
        case .failed: return [.failed(failures.list.last?.message ?? "")]
        case .pending, .waiting, .held: break
        }
        var blockers: [Blocker] = []
        if let constraint { blockers.append(.constraint(Constraint(rawValue: constraint))) }
        let number = id.number
        for hold in try context.fetch(OperationHold.where { $0.operation == number }.sorted { $0.until }) {
            blockers.append(.hold(hold.name, until: hold.until))
        }
        for dependency in try context.fetch(.of(dependant: number)) {
            guard let other = try context.find(id.sibling(dependency.prerequisite)) else { continue }
            if other.status == .failed, dependency.whenFailed == .run { continue }
            blockers.append(.dependency(other.id))
        }
        if let first = try firstOfLane(context), first.id != id { blockers.append(.lane(first.id)) }
        return blockers
    }

    /// The operation of its lane whose turn it is; nil where that is nobody's.
    private func firstOfLane(_ context: ObjectContext) throws -> QueuedOperation? {
        let (name, lane) = (pipeline, lane)
        guard let record = try context.first(PipelineRecord.where { $0.name == name }), record.ordering.isSerial else {
            return nil
        }
        var all = QueuedOperation.where { $0.pipeline == name && $0.lane == lane }
        if record.whenFailed != .block { all = all.where { $0.status != .failed } }
        let first =
            record.ordering == .lifo
            ? all.sorted { [$0.sortKey.descending, $0.commit.descending, $0.id.descending] }
            : all.sorted { [$0.sortKey.ascending, $0.commit.ascending, $0.id.ascending] }
        guard let found = try context.first(first) else { return nil }
        if record.ordering == .commits {
            // Those of its commit run side by side with it.
            return found.commit == commit && found.sortKey == sortKey ? nil : found
        }
        return try context.first(all.where { $0.status == .active }) ?? found
    }
}
