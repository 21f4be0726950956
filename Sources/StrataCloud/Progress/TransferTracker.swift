import Foundation
import StrataPipeline
import Synchronization

/// The direction of a transfer.
enum TransferDirection: Hashable, Sendable {
    case upload, download
}

/// Tracks the running and completed transfers of this process in memory. Transfers report their bytes as they pass.
///
/// The store contains the queued operations and the marks; ``ProgressReading`` combines the two.
final class TransferTracker: Sendable {
    /// A transfer of an operation, or of a download.
    struct Key: Hashable, Sendable {
        let direction: TransferDirection
        /// The number of the operation for uploads, of the node for downloads.
        let number: Int64
        let section: ContentSections

        /// The key of another section of the same transfer.
        func with(_ section: ContentSections) -> Key { Key(direction: direction, number: number, section: section) }
    }

    struct Entry: Sendable {
        let node: Int64
        var size: Int64?
        var done: Int64 = 0
        /// The ranges that are sent separately: the transferred bytes by the start of the range.
        var ranges: [Int64: Int64] = [:]
        /// Whether all bytes have passed. The commit that records the result may still be running.
        var hasPassed = false

        fileprivate mutating func set(_ passed: Int64, ofRangeAt start: Int64) {
            done += passed - (ranges.updateValue(passed, forKey: start) ?? 0)
        }
    }

    /// Completed files and bytes.
    struct Done: Hashable, Sendable {
        var files = 0
        var bytes: Int64 = 0

        static func + (one: Self, other: Self) -> Self {
            Self(files: one.files + other.files, bytes: one.bytes + other.bytes)
        }
    }

    /// A reader of the tracker.
    enum Reader: Sendable {
        /// A single reading: it counts transfers completed since the account was opened.
        case once(ProgressScope)
        /// A repeated reading: it counts transfers completed since the last reading.
        case watcher(Int)
    }

    /// The state of one direction at a moment.
    struct Moment: Sendable {
        var entries: [Key: Entry]
        /// The completed transfers by node; those of a whole account under 0.
        var done: [Int64: Done]
    }

    fileprivate struct Watcher {
        let scope: ProgressScope
        let bell: ProgressBell
        /// The completed transfers since the watcher's last reading.
        var done: [TransferWindow.Source: Done] = [:]
    }

    fileprivate struct State {
        var entries: [Key: Entry] = [:]
        var running: [TransferDirection: Int] = [:]
        var done = TransferLog()
        var window = TransferWindow()
        var watchers: [Int: Watcher] = [:]
        var lastWatcher = 0
        /// The number of entries above which the downloads are checked for removed marks.
        var mostPassed = TransferTracker.leastPassed
        var isClosed = false
    }

    let clock: any PipelineClock
    /// The limit of the upload rate; nil for unlimited.
    fileprivate let throttle: Throttle?
    private let state = Mutex(State())
    private static let leastPassed = 1024

    /// - Parameter maxUploadRate: bytes per second.
    init(_ clock: any PipelineClock, maxUploadRate: Int? = nil) {
        self.clock = clock
        throttle = maxUploadRate.map { Throttle(rate: $0) }
    }

    // MARK: Transfers

    /// Starts to track a transfer. It replaces an earlier one with the same key.
    func begin(_ key: Key, of node: Int64, size: Int64?) -> TrackedTransfer {
        change { state in
            let count = state.running[key.direction, default: 0]
            state.window.begin(key.direction, isFirst: count == 0, at: clock.now)
            state.running[key.direction] = count + 1
            state.entries[key] = Entry(node: node, size: size)
        }
        return TrackedTransfer(self, key)
    }

    fileprivate func change(_ key: Key, passed bytes: Int64 = 0, _ body: (inout Entry) -> Void) {
        change { state in
            guard var entry = state.entries[key] else { return }
            body(&entry)
            state.entries[key] = entry
            guard bytes > 0 else { return }
            let source = TransferWindow.Source(direction: key.direction, node: entry.node)
            state.window.add(bytes, of: source, at: clock.now)
        }
    }

    fileprivate func end(_ key: Key) {
        change { state in
            state.running[key.direction, default: 1] -= 1
            guard let entry = state.entries[key] else { return }
            // The operation's event completes an upload, and the removal of its mark completes a download.
            if !entry.hasPassed { state.entries[key] = nil }
        }
    }

    /// Updates the transfers of an operation after an event.
    func handle(_ event: PipelineEvent) {
        switch event {
        case .finished(let id, _): updatePassed(of: id.rawValue) { $0.complete($1) }
        case .retrying(let id, _, _), .waiting(let id, _), .failed(let id, _), .lost(let id):
            updatePassed(of: id.rawValue) { state, key in state.entries[key] = nil }
        default: ring()
        }
    }

    private func updatePassed(of operation: Int64, _ body: (inout State, Key) -> Void) {
        change { state in
            for section in [ContentSections.data, .metadata, .thumbnail] {
                let key = Key(direction: .upload, number: operation, section: section)
                if state.entries[key]?.hasPassed ?? false { body(&state, key) }
            }
        }
    }

    /// Counts downloads as done after their marks were removed.
    func complete(downloads keys: [Key]) {
        state.withLock { state in
            for key in keys where state.entries[key]?.hasPassed ?? false { state.complete(key) }
            // The remaining entries are checked again after their number has doubled.
            state.mostPassed = max(Self.leastPassed, 2 * state.entries.count)
        }
    }

    /// Counts uploads as done whose operations are gone, before the event arrives.
    ///
    /// - Returns: the result that the reader must count for each of them. The reader does not receive it again.
    func complete(uploads: [Key: Entry], for reader: Reader) -> [Key: Done] {
        state.withLock { state in
            var done: [Key: Done] = [:]
            var counted: Set<Int64> = []
            for (key, entry) in uploads {
                if state.entries[key]?.hasPassed ?? false {
                    done[key] = state.complete(key, toldOf: reader)
                    counted.insert(key.number)
                } else if case .once = reader {
                    // The event has arrived since this reader read the completed transfers.
                    let isFirst = counted.insert(key.number).inserted
                    done[key] = Done(files: isFirst ? 1 : 0, bytes: entry.done)
                }
            }
            return done
        }
    }

    // MARK: Reading

    /// The state of one direction at this moment. A watcher receives each completed transfer once.
    func moment(_ direction: TransferDirection, for reader: Reader) -> Moment {
        state.withLock { state in
            let entries = state.entries.filter { $0.key.direction == direction }
            var done: [Int64: Done] = [:]
            switch reader {
            case .once(let scope): done = state.done.done(direction, scope)
            case .watcher(let number):
                for (source, passed) in state.watchers[number]?.done ?? [:] where source.direction == direction {
                    done[source.node] = passed
                    state.watchers[number]?.done[source] = nil
                }
            }
            return Moment(entries: entries, done: done)
        }
    }

    /// The downloads whose bytes have all passed, and whose marks may still exist.
    var passedDownloads: [Key] {
        state.withLock { $0.entries.filter { $0.key.direction == .download && $0.value.hasPassed }.map(\.key) }
    }

    /// Whether the number of entries requires a check even without a reader.
    var hasManyPassed: Bool { state.withLock { $0.entries.count > $0.mostPassed } }

    /// The nodes of running downloads.
    var downloadingNodes: Set<Int64> {
        state.withLock { Set($0.entries.filter { $0.key.direction == .download }.map(\.value.node)) }
    }

    /// The bytes of the last seconds.
    var window: TransferWindow { state.withLock { $0.window } }

    // MARK: Watching

    /// Registers a watcher whose stream yields after changes and ends with the account.
    ///
    /// - Returns: the stream, its bell, and the number of the watcher; the number is nil if the account is closed. The
    ///   watcher is removed when the stream is released.
    func rings(_ scope: ProgressScope) -> (stream: AsyncStream<Void>, bell: ProgressBell, watcher: Int?) {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let bell = ProgressBell(continuation)
        let number: Int? = state.withLock { state in
            guard !state.isClosed else { return nil }
            state.lastWatcher += 1
            state.watchers[state.lastWatcher] = Watcher(scope: scope, bell: bell)
            return state.lastWatcher
        }
        if let number {
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.watchers.removeValue(forKey: number) }
            }
        } else {
            continuation.finish()
        }
        return (stream, bell, number)
    }

    /// Notifies all watchers.
    func ring() { change { _ in } }

    private func change(_ body: (inout State) -> Void) {
        let bells = state.withLock { state in
            body(&state)
            return state.watchers.values.map(\.bell)
        }
        for bell in bells { bell.ring() }
    }

    func close() {
        let bells = state.withLock { state in
            state.isClosed = true
            return state.watchers.values.map(\.bell)
        }
        // The readers still need their watchers for the transfers that were completed since their last reading.
        for bell in bells { bell.wakeForLast() }
    }
}

extension TransferTracker.State {
    /// Counts a transfer as done.
    ///
    /// - Parameter reader: a reader that counts the transfer itself.
    @discardableResult
    fileprivate mutating func complete(_ key: TransferTracker.Key, toldOf reader: TransferTracker.Reader? = nil)
        -> TransferTracker.Done?
    {
        guard let entry = entries.removeValue(forKey: key) else { return nil }
        let source = TransferWindow.Source(direction: key.direction, node: entry.node)
        // The sections of a file that are transferred together count as one file, when the last of them is done.
        let isAlone = !ContentSections.all.elements.contains { entries[key.with($0)] != nil }
        let passed = TransferTracker.Done(files: isAlone ? 1 : 0, bytes: entry.done)
        done.add(passed, of: source)
        for number in watchers.keys {
            if case .watcher(number) = reader { continue }
            watchers[number]?.add(passed, of: source)
        }
        return passed
    }
}

extension TransferTracker.Watcher {
    fileprivate mutating func add(_ passed: TransferTracker.Done, of source: TransferWindow.Source) {
        var source = source
        switch scope {
        case .account: source.node = 0
        case .node(let node): guard node == source.node else { return }
        case .below: break
        }
        done[source, default: TransferTracker.Done()] = done[source, default: TransferTracker.Done()] + passed
    }
}

/// A transfer that reports its progress. The caller must call ``end()``, whatever the result.
struct TrackedTransfer: Sendable {
    private let tracker: TransferTracker
    private let key: TransferTracker.Key

    fileprivate init(_ tracker: TransferTracker, _ key: TransferTracker.Key) {
        (self.tracker, self.key) = (tracker, key)
    }

    /// Reports that bytes have passed, which end at a position of the whole.
    func pass(_ bytes: Int64, to position: Int64) { tracker.change(key, passed: bytes) { $0.done = position } }

    /// Reports that a range is sent from its start. Bytes of an earlier attempt at the range do not count any more.
    fileprivate func begin(rangeAt start: Int64) { tracker.change(key) { $0.set(0, ofRangeAt: start) } }

    fileprivate func pass(_ bytes: Int64, ofRangeAt start: Int64) {
        tracker.change(key, passed: bytes) { $0.set(($0.ranges[start] ?? 0) + bytes, ofRangeAt: start) }
    }

    /// The limit to wait for before bytes are sent.
    fileprivate var throttle: Throttle? { tracker.throttle }

    /// Reports that a range was sent before.
    func skip(_ range: Range<Int64>) { tracker.change(key) { $0.set(Int64(range.count), ofRangeAt: range.lowerBound) } }

    /// Reports the total size, and the position from which the transfer resumes.
    func resume(at position: Int64, of size: Int64?) {
        tracker.change(key) { ($0.done, $0.size) = (position, size ?? $0.size) }
    }

    /// Reports that all bytes have passed.
    func pass(all size: Int64) { tracker.change(key) { ($0.done, $0.size, $0.hasPassed) = (size, size, true) } }

    /// Reports the end of the transfer. A transfer that has not passed completely does not count any more.
    func end() { tracker.end(key) }
}

extension RemoteBody {
    /// The same bytes, which report to a transfer as they pass and do not exceed the upload rate. Ranges that are sent
    /// concurrently do not overlap.
    func tracked(by transfer: TrackedTransfer) -> RemoteBody {
        var tracked = RemoteBody(size: size) { [self] range in
            let chunks = TrackedChunks(try await chunks(range), from: range.lowerBound, transfer)
            return AsyncThrowingStream(unfolding: { try await chunks.next() })
        }
        (tracked.mark, tracked.mediaType) = (mark, mediaType)
        tracked.onSkip = { range in transfer.skip(range) }
        return tracked
    }
}

private actor TrackedChunks {
    private let iterator: AsyncThrowingStream<Data, any Error>.Iterator
    private let start: Int64
    private let transfer: TrackedTransfer
    /// Bytes that were read and wait for the rate limit.
    private var rest = Data()

    init(_ chunks: AsyncThrowingStream<Data, any Error>, from start: Int64, _ transfer: TrackedTransfer) {
        (iterator, self.start, self.transfer) = (chunks.makeAsyncIterator(), start, transfer)
        transfer.begin(rangeAt: start)
    }

    func next() async throws -> Data? {
        guard let chunk = try await paced() else { return nil }
        transfer.pass(Int64(chunk.count), ofRangeAt: start)
        return chunk
    }

    private func paced() async throws -> Data? {
        guard let throttle = transfer.throttle else { return try await read() }
        if rest.isEmpty {
            guard let chunk = try await read() else { return nil }
            rest = chunk
        }
        let piece = rest.prefix(throttle.piece)
        rest = rest.dropFirst(piece.count)
        try await throttle.pass(piece.count)
        return piece
    }

    private func read() async throws -> Data? {
        // The copied iterator reads the same stream.
        var iterator = iterator
        return try await iterator.next(isolation: self)
    }
}
