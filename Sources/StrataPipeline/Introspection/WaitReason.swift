public import Foundation
public import Strata

/// The reason why an operation does not run. Later versions may add cases, so a `switch` should have a default case.
///
/// The cases from ``noHandler(type:)`` on describe this process: the pipelines and brokers that are open on the
/// context's stack. Another process may start the operation nevertheless.
public enum WaitReason: Hashable, Sendable {
    /// A prerequisite of the operation is still queued.
    case dependency(ObjectID<QueuedOperation>)
    /// Another operation of its lane comes first.
    case lane(ObjectID<QueuedOperation>)
    /// The lane runs as many operations as its limit allows.
    case fullLane(limit: Int)
    /// A hold lasts until a date.
    case hold(String, until: Date)
    /// The operation waits for a constraint, or for a person.
    case constraint(Constraint)
    /// The operation has failed permanently.
    case failed(String)
    /// The operation has not started before its expiry. The next pass of an engine ends it.
    case expired(at: Date)
    /// An operator has paused the pipeline or queue in all processes: see ``PipelineSettings``.
    case paused(by: String, since: Date)
    /// The operation's pipeline is open in this process, and no handler there takes the type of the payload. Another
    /// process may have a handler.
    case noHandler(type: String)
    /// No open pipeline or broker of this process takes the operation. Another process may have one.
    case notOpen
    /// Several brokers of this process take the operation's queue, so it is held until only one of them is open.
    case claimedTwice
    /// The pipeline or broker is suspended, or all pipelines of the stack are suspended together.
    case suspended
    /// The pipeline's gate was closed when the engine last looked. The value is the gate's constraint.
    case gateClosed(Constraint)
    /// The pipeline or broker runs as many operations as its limit allows.
    case fullPipeline(limit: Int)
    /// All pipelines and brokers of the stack together run as many operations as their common limit allows.
    case fullStack(limit: Int)
    /// All processes together run as many operations of the pipeline or broker as its limit allows.
    case fullGlobally(limit: Int)
    /// The rate limit allows the next start at a date.
    case rateLimited(until: Date)
    /// The rate limit of the operation's lane allows the lane's next start at a date.
    case laneRateLimited(until: Date)
}

extension WaitReason {
    /// Whether both are the same reason. Names and messages are compared by the bytes of their UTF-8.
    public static func == (left: WaitReason, right: WaitReason) -> Bool {
        switch (left, right) {
        case (.dependency(let left), .dependency(let right)), (.lane(let left), .lane(let right)): left == right
        case (.fullLane(let left), .fullLane(let right)), (.fullPipeline(let left), .fullPipeline(let right)),
            (.fullStack(let left), .fullStack(let right)), (.fullGlobally(let left), .fullGlobally(let right)):
            left == right
        case (.hold(let left, let date), .hold(let right, let other)): left.hasSameBytes(as: right) && date == other
        case (.constraint(let left), .constraint(let right)), (.gateClosed(let left), .gateClosed(let right)):
            left == right
        case (.failed(let left), .failed(let right)): left.hasSameBytes(as: right)
        case (.paused(let left, let date), .paused(let right, let other)):
            left.hasSameBytes(as: right) && date == other
        case (.noHandler(let left), .noHandler(let right)): left.hasSameBytes(as: right)
        case (.rateLimited(let left), .rateLimited(let right)), (.expired(let left), .expired(let right)),
            (.laneRateLimited(let left), .laneRateLimited(let right)):
            left == right
        case (.notOpen, .notOpen), (.claimedTwice, .claimedTwice), (.suspended, .suspended): true
        default: false
        }
    }

    /// As `==`.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .dependency(let id), .lane(let id): hasher.combine(id)
        case .fullLane(let limit), .fullPipeline(let limit), .fullStack(let limit), .fullGlobally(let limit):
            hasher.combine(limit)
        case .hold(let name, let date), .paused(let name, let date):
            name.hashBytes(into: &hasher)
            hasher.combine(date)
        case .constraint(let constraint), .gateClosed(let constraint): hasher.combine(constraint)
        case .failed(let message): message.hashBytes(into: &hasher)
        case .noHandler(let type): type.hashBytes(into: &hasher)
        case .rateLimited(let date), .laneRateLimited(let date), .expired(let date): hasher.combine(date)
        case .notOpen: hasher.combine(0)
        case .claimedTwice: hasher.combine(1)
        case .suspended: hasher.combine(2)
        }
    }
}

extension WaitReason: CustomStringConvertible {
    /// The reason in words on one line, for logs and screens. Do not parse the text.
    public var description: String { words.onOneLine }

    private var words: String {
        switch self {
        case .dependency(let id): "depends on \(id)"
        case .lane(let id): "runs after \(id) in its lane"
        case .fullLane(let limit): "waits for a place in its lane, which runs \(limit) at once"
        case .hold(let name, let date): "is held by '\(name)' until \(date.inWords)"
        case .constraint(let constraint): "waits for '\(constraint.rawValue)'"
        case .failed(let message): "has failed: \(message)"
        case .expired(let date): "has not started before it expired at \(date.inWords)"
        case .paused(let name, let date):
            "waits until its pipeline, which '\(name)' paused at \(date.inWords), is resumed"
        case .noHandler(let type): "has no handler in this process for its type '\(type)'"
        case .notOpen: "has no open pipeline or broker in this process"
        case .claimedTwice: "is in a queue that several brokers take"
        case .suspended: "waits until its pipeline is resumed"
        case .gateClosed(let constraint): "waits until '\(constraint.rawValue)' opens the gate of its pipeline"
        case .fullPipeline(let limit): "waits for a place in its pipeline, which runs \(limit) at once"
        case .fullStack(let limit): "waits for a place in the stack, whose pipelines run \(limit) at once"
        case .fullGlobally(let limit):
            "waits for a place in its pipeline, which runs \(limit) at once in all processes together"
        case .rateLimited(let date): "waits for the rate limit until \(date.inWords)"
        case .laneRateLimited(let date): "waits for the rate limit of its lane until \(date.inWords)"
        }
    }
}

extension QueuedOperation {
    /// The reasons why this operation does not run, as its context sees them.
    ///
    /// The list is empty if the operation runs. It is also empty if the operation could start now, because the engine
    /// then starts it with its next pass. Two waits are not listed. An operation that is not committed waits for its
    /// commit. While an operation with a ``suspicion`` is tried alone, the others wait.
    ///
    /// The reasons from the store come first. The others, from ``WaitReason/noHandler(type:)`` on, depend on this
    /// process: on the pipelines and brokers that the context's stack has open.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument` if the operation does not belong to a context; the store's
    ///   errors.
    /// - Complexity: O(its dependencies and holds), and a lookup of the first operation of its lane. If the lane has a
    ///   limit, or all processes together have one, also a scan of the running operations. If the pipeline or its lanes
    ///   have a rate limit, also a lookup of the tokens.
    public func waitReasons() throws -> [WaitReason] { try waitReasons(limit: nil) }

    /// The reasons why this operation does not run, for lists of operations.
    ///
    /// - Parameter limit: the greatest number of holds and of dependencies that are read; nil for all.
    /// - Complexity: as ``waitReasons()``, but O(`limit`) for dependencies and holds.
    package func waitReasons(limit: Int?) throws -> [WaitReason] {
        let context = try requireContext()
        switch status {
        case .active: return []
        case .failed: return [.failed(failures.list.last?.message ?? "")]
        case .pending, .waiting, .held: break
        }
        var waitReasons: [WaitReason] = []
        if epoch == 0, let date = try expiresAt(), date <= context.pipelineTime {
            waitReasons.append(.expired(at: date))
        }
        if let constraint { waitReasons.append(.constraint(Constraint(rawValue: constraint))) }
        let number = id.rawValue
        let holds = OperationHold.where { $0.operation == number }.sorted { $0.until }
        for hold in try context.fetch(limit.map { holds.limit($0) } ?? holds) {
            waitReasons.append(.hold(hold.name, until: hold.until))
        }
        let dependencies = Query<OperationDependency>.of(dependant: number)
        for dependency in try context.fetch(limit.map { dependencies.limit($0) } ?? dependencies) {
            guard let other = try context.find(id.sibling(dependency.prerequisite)) else { continue }
            if other.status == .failed, dependency.whenFailed == .run { continue }
            waitReasons.append(.dependency(other.id))
        }
        let record = try context.record(of: pipeline)
        if let limit = record?.laneLimit {
            let name = pipeline
            // This uses the index of running operations, of which there are few, and not the index of the lane.
            let active = QueuedOperation.where { $0.status == .active && $0.pipeline == name }
            let lanes = try context.column(active, \.lane)
            if lanes.count(where: { $0.hasSameBytes(as: lane) }) >= limit {
                waitReasons.append(.fullLane(limit: limit))
            }
        }
        if let record, record.ordering.isSerial,
            let first = try context.first(of: lane, in: record), first.id != id
        {
            // In `commits`, operations of the same commit run concurrently, so they do not block each other.
            let isBeside =
                record.ordering == .commits && first.positionCommit == positionCommit && first.sortKey == sortKey
            if !isBeside { waitReasons.append(.lane(first.id)) }
        }
        if let pause = try context.pause(of: pipeline) { waitReasons.append(.paused(by: pause.by, since: pause.at)) }
        return try waitReasons + context.processWaitReasons(for: self)
    }
}

extension ObjectContext {
    /// The types of payloads that this process claims from a pipeline; nil if it claims all types, or if not exactly
    /// one open pipeline or broker of the stack takes the operations.
    func claimedTypes(of name: PipelineName) -> [String]? {
        engine(QueueEngine.name, of: QueueEngine.self)?.claimedTypes(of: name)
    }

    /// Whether this process has the operation's pipeline open without a handler for the operation's type.
    func hasNoHandler(for operation: QueuedOperation) -> Bool {
        guard let types = claimedTypes(of: operation.pipeline) else { return false }
        return !types.containsBytes(of: operation.type)
    }

    /// The last declaration of a pipeline; nil if it was never declared.
    func record(of name: PipelineName) throws -> PipelineRecord? {
        try first(PipelineRecord.where { $0.name == name })
    }

    /// The operation whose turn it is in a lane; nil if the lane is empty.
    func first(of lane: String, in record: PipelineRecord) throws -> QueuedOperation? {
        let name = record.name
        if record.ordering != .commits, let active = try firstActive(in: lane, of: name) { return active }
        var all = QueuedOperation.where { $0.pipeline == name && $0.lane == lane }
        if record.whenFailed != .blockLane { all = all.where { $0.status != .failed } }
        let ordered =
            record.ordering == .lifo
            ? all.sorted { [$0.sortKey.descending, $0.commit.descending, $0.id.descending] }
            : all.sorted { [$0.sortKey.ascending, $0.commit.ascending, $0.id.ascending] }
        // Operations that are not committed yet come after committed ones.
        return try first(ordered.where { $0.commit > 0 }) ?? first(ordered)
    }

    /// A running operation of a lane; nil without one.
    ///
    /// Few operations run, and many may be in the lane. The plus sign makes SQLite use the index of running operations.
    private func firstActive(in lane: String, of name: PipelineName) throws -> QueuedOperation? {
        let active = QueuedOperation.where { $0.status == .active && $0.pipeline == name }
        return try first(active.where { Condition<QueuedOperation>.sql("+\($0.lane) = \(lane)") })
    }
}
