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
    private let walSize: Gauge
    private let factory: any MetricsFactory
    private let dimensions: [(String, String)]

    init(_ factory: any MetricsFactory, _ dimensions: [(String, String)]) {
        func counter(_ label: String, _ more: (String, String)...) -> Counter {
            Counter(label: label, dimensions: dimensions + more, factory: factory)
        }
        func timer(_ label: String) -> Metrics.Timer {
            Metrics.Timer(label: label, dimensions: dimensions, factory: factory)
        }
        self.factory = factory
        self.dimensions = dimensions
        var writes: [WriteKind: Writes] = [:]
        for kind in WriteKind.allCases {
            writes[kind] = Writes(
                done: counter("strata.\(kind.plural)"),
                duration: timer("strata.\(kind.rawValue).duration")
            )
        }
        self.writes = writes
        inserted = counter("strata.rows.written", ("kind", "inserted"))
        updated = counter("strata.rows.written", ("kind", "updated"))
        deleted = counter("strata.rows.written", ("kind", "deleted"))
        conflicts = counter("strata.conflicts")
        writeWait = timer("strata.write.wait")
        contextWait = timer("strata.context.wait")
        openReaders = Gauge(label: "strata.readers.open", dimensions: dimensions, factory: factory)
        walSize = Gauge(label: "strata.wal.bytes", dimensions: dimensions, factory: factory)
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
        Counter(label: "strata.\(kind.rawValue).failures", dimensions: dimensions, factory: factory).increment()
    }

    /// Counts the columns and objects that conflict with changes by others.
    func noteConflicts(in error: any Error) {
        guard let error = error as? StrataError, error.code == .conflict else { return }
        conflicts.increment(by: error.details.count)
    }

    func noteSize(of journal: Journal) { walSize.record(journal.size) }

    func noteReaders(_ count: Int) { openReaders.record(count) }
}
