import Metrics
import Synchronization

/// The metrics of a store with a home.
///
/// Isolation: any.
final class HomeMetrics: Sendable {
    /// The calls of a ``StoreHome`` that wait for it.
    enum Call: String, CaseIterable, Sendable {
        case open, create, migrate, copy, transactions, newest, lock, publish, publishIfNewest, outcome, reserveIDs
        case report, nodes
    }

    private let durations: [Call: Metrics.Timer]
    private let published: Counter
    private let applied: Counter
    private let lag: Gauge
    private let behind: Gauge
    private let ahead: Gauge
    private let clock: Gauge
    private let copiedRows: Gauge
    private let expectedRows: Gauge
    private let source: MetricsSource
    /// The last moment at which the working copy is known to have had all transactions of the home.
    private let completeAt = Mutex(ContinuousClock.now)

    init(_ source: MetricsSource) {
        self.source = source
        var durations: [Call: Metrics.Timer] = [:]
        for call in Call.allCases { durations[call] = source.timer(.homeCalls, ("call", call.rawValue)) }
        self.durations = durations
        published = source.counter(.publishedTransactions)
        applied = source.counter(.appliedTransactions)
        lag = source.gauge(.homeLag)
        behind = source.gauge(.transactionsBehind)
        ahead = source.gauge(.transactionsAhead)
        clock = source.gauge(.clockDifference)
        copiedRows = source.gauge(.copiedRows)
        expectedRows = source.gauge(.expectedRows)
    }

    /// Measures a call, and counts its error.
    func measure<Value>(_ call: Call, _ body: () throws -> Value) throws -> Value {
        let start = ContinuousClock.now
        defer { durations[call]?.record(duration: start.duration(to: .now)) }
        do {
            return try body()
        } catch {
            let code = (error as? StrataError)?.code.description ?? "\(type(of: error))"
            // Created on demand: most codes never occur.
            source.counter(.homeErrors, ("call", call.rawValue), ("code", code)).increment()
            throw error
        }
    }

    func notePublished() { published.increment() }

    func noteApplied() { applied.increment() }

    /// Notes that the working copy had all transactions of the home at a moment.
    func noteComplete(at moment: ContinuousClock.Instant) { completeAt.withLock { $0 = max($0, moment) } }

    /// Records for how long the working copy has not been known to be complete.
    func recordLag() {
        let seconds: Double = completeAt.withLock { $0.duration(to: .now) } / .seconds(1)
        lag.record(seconds)
    }

    /// Records the number of transactions that the working copy lacks, and the number of those that only the copy has.
    func noteDistance(behind: Int64, ahead: Int64) {
        self.behind.record(behind)
        self.ahead.record(ahead)
    }

    /// Records by how many seconds the clock of this node is ahead of that of the home.
    func noteClock(_ seconds: Double) { clock.record(seconds) }

    /// Records the progress of making a working copy, in rows.
    func noteCopied(_ count: Int64, of expected: Int64) {
        copiedRows.record(count)
        expectedRows.record(expected)
    }

    /// Counts a working copy that was made from the rows of the home.
    func noteCopy(isRebuilt: Bool) {
        source.counter(.workingCopies, ("kind", isRebuilt ? "rebuilt" : "new")).increment()
    }
}
