import Foundation
import Metrics

/// The metrics of one store.
///
/// Isolation: any.
final class StoreMetrics: Sendable {
    /// The metrics of one kind of write.
    private struct Writes: Sendable {
        let done: Counter
        let duration: Metrics.Timer
    }

    /// The time from the call of a block to its start.
    let contextWait: Metrics.Timer
    private let writes: [WriteKind: Writes]
    private let inserted: Counter
    private let updated: Counter
    private let deleted: Counter
    private let conflicts: Counter
    private let writeWait: Metrics.Timer
    private let openReaders: Gauge
    private let usedReaders: Gauge
    private let blocksWaitingForReader: Gauge
    private let waitingWrites: Gauge
    private let walSize: Gauge
    private let source: MetricsSource

    init(_ source: MetricsSource) {
        self.source = source
        var writes: [WriteKind: Writes] = [:]
        for kind in WriteKind.allCases {
            writes[kind] = Writes(done: source.counter(kind.names.done), duration: source.timer(kind.names.duration))
        }
        self.writes = writes
        inserted = source.counter(.writtenRows, ("kind", "inserted"))
        updated = source.counter(.writtenRows, ("kind", "updated"))
        deleted = source.counter(.writtenRows, ("kind", "deleted"))
        conflicts = source.counter(.conflicts)
        writeWait = source.timer(.writeWait)
        contextWait = source.timer(.contextWait)
        openReaders = source.gauge(.openReaders)
        usedReaders = source.gauge(.usedReaders)
        blocksWaitingForReader = source.gauge(.blocksWaitingForReader)
        waitingWrites = source.gauge(.waitingWrites)
        walSize = source.gauge(.journalSize)
    }

    func note(_ kind: WriteKind, _ rows: RowCounts, _ duration: Duration, waited: Duration) {
        writes[kind]?.done.increment()
        writes[kind]?.duration.record(duration: duration)
        writeWait.record(duration: waited)
        for (counter, count) in [(inserted, rows.inserted), (updated, rows.updated), (deleted, rows.deleted)]
        where count > 0 {
            counter.increment(by: count)
        }
    }

    func noteFailure(of kind: WriteKind, _ code: String) {
        // Created on demand: most codes never occur.
        source.counter(kind.names.failures, ("code", code)).increment()
    }

    /// Counts the columns and objects that conflict with changes by others.
    func noteConflicts(in error: any Error) {
        guard let error = error as? StrataError, error.code == .conflict else { return }
        conflicts.increment(by: error.details.count)
    }

    func noteSize(of journal: Journal) { walSize.record(journal.size) }

    func noteReaders(_ count: Int) { openReaders.record(count) }

    func noteUsedReaders(_ count: Int) { usedReaders.record(count) }

    func noteBlocksWaitingForReader(_ count: Int) { blocksWaitingForReader.record(count) }

    func noteWaitingWrites(_ count: Int) { waitingWrites.record(count) }
}

extension WriteKind {
    /// The labels of the metrics of this kind.
    fileprivate var names: (done: MetricName, duration: MetricName, failures: MetricName) {
        switch self {
        case .commit: (.commits, .commitDuration, .commitFailures)
        case .batch: (.batches, .batchDuration, .batchFailures)
        }
    }
}
