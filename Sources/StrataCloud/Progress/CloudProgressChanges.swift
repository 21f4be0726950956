import Foundation
import StrataPipeline

/// The progress of an account, a folder or a node, now and whenever it has changed: see ``CloudAccount/progressChanges(every:)``.
///
/// What is done counts from the moment at which a loop began, or at which it was last told that nothing is left: so that a bar which was full
/// begins anew with the next work.
public struct CloudProgressChanges: AsyncSequence, Sendable {
    let reading: ProgressReading
    let scope: ProgressScope
    let interval: Duration

    /// Begins to look.
    public func makeAsyncIterator() -> Iterator { Iterator(reading, scope, interval) }

    /// Gives one value after the other, none twice in a row.
    public struct Iterator: AsyncIteratorProtocol {
        private let reading: ProgressReading
        private let scope: ProgressScope
        private let interval: Duration
        private let continuation: AsyncStream<Void>.Continuation
        private var rings: AsyncStream<Void>.Iterator
        private var last: CloudProgress?
        /// When the next value may be read at the earliest.
        private var due = Date.distantPast
        private var base: (uploads: TransferProgress, downloads: TransferProgress)?

        init(_ reading: ProgressReading, _ scope: ProgressScope, _ interval: Duration) {
            (self.reading, self.scope, self.interval) = (reading, scope, interval)
            let (stream, continuation) = reading.book.rings()
            (rings, self.continuation) = (stream.makeAsyncIterator(), continuation)
        }

        /// The newest value; nil when the account is closed or the task is cancelled.
        ///
        /// - Throws: what the store reports.
        public mutating func next() async throws -> CloudProgress? { try await next(isolation: #isolation) }

        /// The newest value; nil when the account is closed or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> CloudProgress? {
            while true {
                if last != nil, await !waitForChange(actor) { return nil }
                let whole = try await reading.read(scope)
                if base == nil { base = (whole.uploads, whole.downloads) }
                due = reading.book.clock.now.addingTimeInterval(interval / .seconds(1))
                let progress = whole.since(base)
                // Behind the value that says so, what is done counts anew.
                if whole.isIdle { base = (whole.uploads, whole.downloads) }
                guard progress != last else { continue }
                last = progress
                return progress
            }
        }

        /// Waits until something may have changed, and the interval is over.
        ///
        /// - Returns: false at the end.
        private mutating func waitForChange(_ actor: isolated (any Actor)?) async -> Bool {
            let clock = reading.book.clock
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

extension CloudProgress {
    /// What has been done since a moment.
    fileprivate func since(_ base: (uploads: TransferProgress, downloads: TransferProgress)?) -> CloudProgress {
        guard let base else { return self }
        var progress = self
        progress.uploads = uploads.since(base.uploads)
        progress.downloads = downloads.since(base.downloads)
        return progress
    }
}

extension TransferProgress {
    fileprivate func since(_ base: TransferProgress) -> TransferProgress {
        var progress = self
        // Nodes that were deleted count no more.
        progress.filesDone = max(0, filesDone - base.filesDone)
        progress.bytesDone = max(0, bytesDone - base.settledBytes)
        progress.bytesTotal = bytesTotal.map { max(0, $0 - base.settledBytes) }
        progress.settledBytes = max(0, settledBytes - base.settledBytes)
        return progress
    }
}
