import Foundation
import Strata
import StrataPipeline

/// A sequence of the progress of an account, a folder or a node: see ``CloudAccount/progressChanges(every:)``.
///
/// Completed transfers count from the start of the iteration, or from the last value that reported no work left. So a
/// full progress bar starts again with the next work.
///
/// An iteration ends when the account or its stack is closed, or the task is cancelled. On an account that is closed
/// already, it returns the current value and ends. On a closed stack, it throws `StrataError` with `closed`.
public struct CloudProgressChanges: AsyncSequence, Sendable {
    let source: ProgressSource
    let scope: ProgressScope
    let interval: Duration

    /// Starts to observe the progress.
    public func makeAsyncIterator() -> Iterator { Iterator(source, scope, interval) }

    /// An iterator that never returns the same value twice in a row.
    public struct Iterator: AsyncIteratorProtocol {
        private let clock: any PipelineClock
        private var reading: ProgressReading
        private let interval: Duration
        private let bell: ProgressBell
        private var rings: AsyncStream<Void>.Iterator
        private var last: CloudProgress?
        /// The earliest time of the next value.
        private var due = Date.distantPast
        /// Whether the account was closed before the last reading.
        private var isOver = false

        /// Ends the reader's stream when the stack is closed and releases its listeners.
        private final class StreamEnd: Sendable {
            let bell: ProgressBell

            init(_ bell: ProgressBell) { self.bell = bell }

            deinit { bell.finish() }
        }

        init(_ source: ProgressSource, _ scope: ProgressScope, _ interval: Duration) {
            (clock, self.interval) = (source.tracker.clock, interval)
            let (stream, bell, watcher) = source.tracker.rings(scope)
            (rings, self.bell) = (stream.makeAsyncIterator(), bell)
            reading = ProgressReading(source, scope, watcher: watcher) { [end = StreamEnd(bell)] in end.bell.ring() }
        }

        /// The newest value; nil when the account or the stack is closed, or the task is cancelled.
        ///
        /// - Throws: errors of the store.
        public mutating func next() async throws -> CloudProgress? { try await next(isolation: #isolation) }

        /// The newest value; nil when the account or the stack is closed, or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> CloudProgress? {
            while true {
                if isOver { return nil }
                if last != nil, await !waitForChange(actor) { return nil }
                // Asked before the reading, which then contains all changes.
                isOver = bell.isOver
                bell.reset()
                let progress: CloudProgress
                do {
                    progress = try await reading.read()
                } catch let error as StrataError where error.code == .closed && last != nil {
                    return nil
                }
                due = clock.now.addingTimeInterval(interval / .seconds(1))
                // After a value that reports no work left, completed transfers count from zero.
                if progress.isIdle { reading.beginAnew() }
                guard progress != last else { continue }
                last = progress
                return progress
            }
        }

        /// Waits until the progress may have changed and the interval has passed.
        ///
        /// The first change wakes the task, which then sets an alarm for the end of the interval. Further changes do
        /// not wake the task. So the alarms for a value do not grow with the number of changes.
        ///
        /// - Returns: false at the end of the sequence.
        private mutating func waitForChange(_ actor: isolated (any Actor)?) async -> Bool {
            var alarm: (any PipelineAlarm)?
            defer { alarm?.cancel() }
            // The throughput falls while no bytes pass, so a value is due every second.
            let isMoving = last.map { $0.uploads.throughput > 0 || $0.downloads.throughput > 0 } ?? false
            let pulse = due.addingTimeInterval(isMoving ? 1 : .infinity)
            var hasRung = false
            while true {
                let now = clock.now
                if bell.isOver || hasRung && now >= due || now >= pulse { return true }
                alarm?.cancel()
                let moment = hasRung ? due : pulse
                if moment < .distantFuture {
                    alarm = clock.alarm(at: moment) { [bell] in bell.wake() }
                }
                guard await rings.next(isolation: actor) != nil else { return false }
                hasRung = true
            }
        }
    }
}
