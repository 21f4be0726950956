import Foundation
import Metrics
import Strata

/// The gauges of the queues of one pipeline or broker.
///
/// Isolation: any.
struct QueueGauges: Sendable {
    private let queued: Gauge
    private let failed: Gauge
    private let oldest: Gauge
    private let stuckLanes: Gauge

    init(_ factory: any MetricsFactory, _ dimensions: [(String, String)]) {
        func gauge(_ name: MetricName) -> Gauge {
            Gauge(label: name.rawValue, dimensions: dimensions, factory: factory)
        }
        queued = gauge(.queuedOperations)
        failed = gauge(.failedOperations)
        oldest = gauge(.oldestOperation)
        stuckLanes = gauge(.stuckLanes)
    }

    /// Records the state of all queues together.
    func record(_ queues: [PipelineSnapshot], now: Date) {
        queued.record(queues.reduce(0) { $0 + $1.total })
        failed.record(queues.reduce(0) { $0 + $1.counts[.failed, default: 0] })
        let age = queues.compactMap(\.oldest).min().map { max(now.timeIntervalSince($0), 0) } ?? 0
        oldest.record(age)
        stuckLanes.record(queues.reduce(0) { $0 + $1.blockedLanes.count })
    }
}

extension QueueEngine {
    /// Measures the queues of the consumers that have metrics, beside the passes: reading long queues takes a while.
    ///
    /// - Complexity: O(queued operations), and none without metrics.
    func measureQueues(of consumers: some Collection<Consumer>, now: Date) {
        let measured = consumers.compactMap { consumer in
            consumer.events.telemetry?.gauges.map { (consumer: consumer, gauges: $0) }
        }
        if measured.isEmpty { return }
        Task.detached(priority: .utility) { [stack] in
            // A stack that is being closed is not measured any more.
            guard let all = try? await stack.overStore({ try $0.pipelineSnapshots() }) else { return }
            for (consumer, gauges) in measured {
                gauges.record(all.filter { consumer.takes(PipelineName($0.name)) }, now: now)
            }
        }
    }
}
