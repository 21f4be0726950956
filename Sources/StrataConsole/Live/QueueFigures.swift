import Foundation
import Strata
import StrataPipeline
import StrataInspection
import Synchronization

/// Numbers of operations that are counted in indexes.
struct QueueFigures: Sendable {
    /// When the operations were counted.
    let time: Date
    /// The queued operations of each queue by status.
    let counts: [PipelineName: [OperationStatus: Int]]
    /// The beginning of the first minute of ``finished``.
    let start: Date
    /// The finished operations of each minute, each up to ``OverviewCharts/countLimit``.
    let finished: [Int]

    /// The queued operations by status.
    var totals: [OperationStatus: Int] {
        var totals: [OperationStatus: Int] = [:]
        for counts in counts.values {
            for (status, count) in counts { totals[status, default: 0] += count }
        }
        return totals
    }

    /// The number of entries of indexes that were counted.
    fileprivate var size: Int { totals.values.reduce(0, +) + finished.reduce(0, +) }

    /// Says that the figures are those of an earlier request; nil if they are not.
    func note(_ request: ConsoleRequest) -> String? {
        guard time != request.time, let text = Timestamp.text(time) else { return nil }
        return "The operations were counted at \(text). In a large store, the pages of some seconds share the counts."
    }
}

/// The figures of the queues, which requests share if counting takes long.
///
/// A store with a million operations is counted in about 100 milliseconds. Without shared figures, each open page would
/// take this time after each commit.
final class QueueFiguresCache: Sendable {
    /// Counting takes at most this fraction of the time.
    private static let share = 20

    private struct State {
        var known: (figures: QueueFigures, end: ContinuousClock.Instant)?
        /// The number of changes by this console.
        var changeCount = 0
    }

    private let exactSize: Int
    private let shortestLifetime: Duration
    private let state = Mutex(State())

    /// - Parameters:
    ///   - exactSize: up to this number of counted entries, each request counts anew.
    ///   - shortestLifetime: how long figures are shared at least.
    init(exactSize: Int = 50_000, shortestLifetime: Duration = .seconds(1)) {
        (self.exactSize, self.shortestLifetime) = (exactSize, shortestLifetime)
    }

    /// The shared figures, or new ones.
    ///
    /// - Parameter time: the present.
    func current(in context: ObjectContext, at time: Date) throws -> QueueFigures {
        let start = ContinuousClock.now
        let (shared, changeCount) = state.withLock { state -> (QueueFigures?, Int) in
            guard let known = state.known, known.end > start else { return (nil, state.changeCount) }
            return (known.figures, state.changeCount)
        }
        if let shared { return shared }
        let first = OverviewCharts.start(at: time)
        let figures = QueueFigures(
            time: time,
            counts: try context.queueCounts(),
            start: first,
            finished: try context.finishedCounts(
                from: first,
                minutes: OverviewCharts.minutes,
                limit: OverviewCharts.countLimit
            )
        )
        let end = ContinuousClock.now
        let lifetime = max(shortestLifetime, start.duration(to: end) * Self.share)
        let isShared = figures.size > exactSize
        state.withLock { state in
            if state.changeCount == changeCount {
                state.known = isShared ? (figures: figures, end: end.advanced(by: lifetime)) : nil
            }
        }
        return figures
    }

    /// Lets the next request count. A person must see the result of a change.
    func forget() {
        state.withLock { state in
            state.known = nil
            state.changeCount += 1
        }
    }
}

extension ConsoleRequest {
    /// The figures of the queues.
    func figures(in context: ObjectContext) throws -> QueueFigures {
        try store.figures.current(in: context, at: time)
    }
}
