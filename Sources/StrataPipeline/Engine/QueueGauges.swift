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

    init(_ source: MetricsSource) {
        queued = source.gauge(.queuedOperations)
        failed = source.gauge(.failedOperations)
        oldest = source.gauge(.oldestOperation)
        stuckLanes = source.gauge(.stuckLanes)
    }

    /// Records the state of all queues together.
    func record(_ queues: [PipelineSnapshot], now: Date) {
        queued.record(queues.reduce(0) { $0 + $1.total })
        failed.record(queues.reduce(0) { $0 + $1.counts[.failed, default: 0] })
        let age = queues.compactMap(\.oldest).min().map { max(now.timeIntervalSince($0), 0) } ?? 0
        oldest.record(age)
        stuckLanes.record(queues.reduce(0) { $0 + $1.blockedLanes.count })
    }

    /// Removes the gauges from the metrics. A measurement that has already begun has no effect then.
    func destroy() { for gauge in [queued, failed, oldest, stuckLanes] { gauge.destroy() } }
}

extension QueueEngine {
    /// Measures the queues of the consumers that have metrics, beside the passes: reading long queues takes a while.
    ///
    /// - Complexity: O(queued operations), in at most a twentieth of the time: see ``GaugePace``. None without metrics.
    func measureQueues(of consumers: some Collection<Consumer>, now: Date) {
        let measured = consumers.compactMap { consumer in
            consumer.events.telemetry?.gauges.map { (consumer: consumer, gauges: $0) }
        }
        if measured.isEmpty { return }
        let isDue = state.withLock { $0.gaugePace.begin(at: now) }
        guard isDue else { return }
        Task.detached(priority: .utility) { [self] in
            let start = ContinuousClock.now
            let all = try? await stack.overStore { try $0.pipelineSnapshots() }
            state.withLock { $0.gaugePace.end(after: start.duration(to: .now)) }
            // A stack that is being closed is not measured any more.
            guard let all else { return }
            for (consumer, gauges) in measured { gauges.record(all.filter { consumer.takes($0.name) }, now: now) }
        }
    }
}

/// Decides at which heartbeats the queues are measured. Long queues are measured less often, and never twice at a time.
struct GaugePace: Sendable {
    private var isMeasuring = false
    /// When the last measurement began, by the engine's clock.
    private var last = Date.distantPast
    /// The shortest time between the starts of two measurements, in seconds.
    private var interval = 0.0

    /// The part of the time in which queues may be measured.
    private static let share = 0.05

    /// Begins a measurement, unless one is running or the last one began too recently. Returns whether it has begun.
    mutating func begin(at now: Date) -> Bool {
        // The distance counts in both directions, because the clock may have been set back.
        guard !isMeasuring, abs(now.timeIntervalSince(last)) >= interval else { return false }
        (isMeasuring, last) = (true, now)
        return true
    }

    /// Ends the measurement, which took this long.
    mutating func end(after duration: Duration) {
        isMeasuring = false
        interval = duration.seconds / Self.share
    }
}
