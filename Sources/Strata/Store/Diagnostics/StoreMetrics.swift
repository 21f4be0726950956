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
    private let factory: any MetricsFactory
    private let dimensions: [(String, String)]

    init(_ factory: any MetricsFactory, _ dimensions: [(String, String)]) {
        func counter(_ name: MetricName, _ more: (String, String)...) -> Counter {
            Counter(label: name.rawValue, dimensions: dimensions + more, factory: factory)
        }
        func timer(_ name: MetricName) -> Metrics.Timer {
            Metrics.Timer(label: name.rawValue, dimensions: dimensions, factory: factory)
        }
        func gauge(_ name: MetricName) -> Gauge {
            Gauge(label: name.rawValue, dimensions: dimensions, factory: factory)
        }
        self.factory = factory
        self.dimensions = dimensions
        var writes: [WriteKind: Writes] = [:]
        for kind in WriteKind.allCases {
            writes[kind] = Writes(done: counter(kind.names.done), duration: timer(kind.names.duration))
        }
        self.writes = writes
        inserted = counter(.writtenRows, ("kind", "inserted"))
        updated = counter(.writtenRows, ("kind", "updated"))
        deleted = counter(.writtenRows, ("kind", "deleted"))
        conflicts = counter(.conflicts)
        writeWait = timer(.writeWait)
        contextWait = timer(.contextWait)
        openReaders = gauge(.openReaders)
        usedReaders = gauge(.usedReaders)
        blocksWaitingForReader = gauge(.blocksWaitingForReader)
        waitingWrites = gauge(.waitingWrites)
        walSize = gauge(.journalSize)
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
        let dimensions = dimensions + [("code", code)]
        Counter(label: kind.names.failures.rawValue, dimensions: dimensions, factory: factory).increment()
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
