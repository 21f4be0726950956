import Foundation
import StrataPipeline

/// The progress of an account, a folder or a node, now and whenever it has changed: see ``CloudAccount/progressChanges(every:)``.
///
/// What is done counts from the moment at which a loop began, or at which it was last told that nothing is left: so that a bar which was full
/// begins anew with the next work.
public struct CloudProgressChanges: AsyncSequence, Sendable {
    let source: ProgressSource
    let scope: ProgressScope
    let interval: Duration

    /// Begins to look.
    public func makeAsyncIterator() -> Iterator { Iterator(source, scope, interval) }

    /// Gives one value after the other, none twice in a row.
    public struct Iterator: AsyncIteratorProtocol {
        private let clock: any PipelineClock
        private var reading: ProgressReading
        private let interval: Duration
        private let continuation: AsyncStream<Void>.Continuation
        private var rings: AsyncStream<Void>.Iterator
        private var last: CloudProgress?
        /// When the next value may be read at the earliest.
        private var due = Date.distantPast

        init(_ source: ProgressSource, _ scope: ProgressScope, _ interval: Duration) {
            (clock, self.interval) = (source.book.clock, interval)
            let (stream, continuation, watcher) = source.book.rings(scope)
            (rings, self.continuation) = (stream.makeAsyncIterator(), continuation)
            reading = ProgressReading(source, scope, watcher: watcher) { continuation.yield() }
        }

        /// The newest value; nil when the account is closed or the task is cancelled.
        ///
        /// - Throws: what the store reports.
        public mutating func next() async throws -> CloudProgress? { try await next(isolation: #isolation) }

        /// The newest value; nil when the account is closed or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> CloudProgress? {
            while true {
                if last != nil, await !waitForChange(actor) { return nil }
                let progress = try await reading.read()
                due = clock.now.addingTimeInterval(interval / .seconds(1))
                // Behind the value that says so, what is done counts anew.
                if progress.isIdle { reading.beginAnew() }
                guard progress != last else { continue }
                last = progress
                return progress
            }
        }

        /// Waits until something may have changed, and the interval is over.
        ///
        /// - Returns: false at the end.
        private mutating func waitForChange(_ actor: isolated (any Actor)?) async -> Bool {
            var alarm: (any PipelineAlarm)?
            defer { alarm?.cancel() }
            // Throughput falls while nothing passes.
            let isMoving = last.map { $0.uploads.throughput > 0 || $0.downloads.throughput > 0 } ?? false
            let pulse = due.addingTimeInterval(isMoving ? 1 : .infinity)
            var hasRung = false
            while true {
                let now = clock.now
                if hasRung && now >= due || now >= pulse { return true }
                alarm?.cancel()
                let moment = hasRung ? due : pulse
                if moment < .distantFuture {
                    alarm = clock.alarm(at: moment) { [continuation] in continuation.yield() }
                }
                guard await rings.next(isolation: actor) != nil else { return false }
                hasRung = true
            }
        }
    }
}
