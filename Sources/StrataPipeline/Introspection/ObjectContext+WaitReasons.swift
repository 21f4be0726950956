import Foundation
import Strata

extension ObjectContext {
    /// The reasons in this process why an operation does not start, whatever the other operations of the queue.
    ///
    /// - Complexity: O(open pipelines and brokers). If there is a rate limit, also a lookup of its tokens. If there is
    ///   a limit for all processes together, also a scan of the running operations.
    func processWaitReasons(for operation: QueuedOperation) throws -> [WaitReason] {
        guard let engine = engine(QueueEngine.name, of: QueueEngine.self) else { return [.notOpen] }
        let takers = engine.takers(of: operation.pipeline)
        guard takers.count < 2 else { return [.claimedTwice] }
        guard let consumer = takers.first, !consumer.isClosing else { return [.notOpen] }
        // The operation may have been claimed after the state that this context shows.
        if engine.isRunning(operation.id.rawValue, by: consumer.id) { return [] }
        var waitReasons: [WaitReason] = []
        if let types = consumer.claimedTypes, !types.containsBytes(of: operation.type) {
            waitReasons.append(.noHandler(type: operation.type))
        }
        if consumer.suspensions > 0 || engine.group.suspensions > 0 { waitReasons.append(.suspended) }
        // The constraint is not asked here: it is application code, and may use the stack.
        if consumer.isGateClosed, let gate = consumer.gate, !gate.exempts(key: operation.key) {
            waitReasons.append(.gateClosed(gate.constraint.constraint))
        }
        if let limit = consumer.maxConcurrent, consumer.runningCount >= limit {
            waitReasons.append(.fullPipeline(limit: limit))
        }
        if let limit = engine.group.maxConcurrent, engine.runningCount >= limit {
            waitReasons.append(.fullStack(limit: limit))
        }
        if let limit = consumer.options.maxConcurrentGlobally, try runningCount(of: consumer) >= limit {
            waitReasons.append(.fullGlobally(limit: limit))
        }
        if let date = try nextStart(of: consumer, now: engine.clock.now) {
            waitReasons.append(.rateLimited(until: date))
        }
        if let date = try nextStart(inLaneOf: operation, consumer, now: engine.clock.now) {
            waitReasons.append(.laneRateLimited(until: date))
        }
        return waitReasons
    }

    /// The number of a consumer's operations that run in all processes together.
    private func runningCount(of consumer: Consumer) throws -> Int {
        try column(QueuedOperation.where { $0.status == .active }, \.pipeline).count { consumer.takes($0) }
    }

    /// When the rate limit of an operation's lane allows the next start; nil if it allows one now.
    private func nextStart(inLaneOf operation: QueuedOperation, _ consumer: Consumer, now: Date) throws -> Date? {
        let (name, lane) = (operation.pipeline, operation.lane)
        guard let limit = consumer.laneRates?.limit(of: lane),
            let bucket = try first(LaneBudget.where { $0.pipeline == name && $0.lane == lane })
        else { return nil }
        return limit.nextStart(tokens: bucket.tokens, countedAt: bucket.countedAt, now: now)
    }

    /// When the rate limit of a consumer allows the next start; nil if it allows one now.
    private func nextStart(of consumer: Consumer, now: Date) throws -> Date? {
        let name = consumer.name
        guard let limit = consumer.rateLimit,
            let bucket = try first(PipelineBudget.where { $0.name == name })
        else { return nil }
        return limit.nextStart(tokens: bucket.tokens, countedAt: bucket.countedAt, now: now)
    }
}
