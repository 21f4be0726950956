import Foundation
import StrataPipeline
import Synchronization

/// Which way bytes go.
enum TransferDirection: Hashable, Sendable {
    case upload, download
}

/// What is being transferred in this process, and has been: in memory, told by transfers as bytes pass.
///
/// What is queued and what is marked is in the store; ``ProgressReading`` puts the two together.
final class TransferBook: Sendable {
    /// A transfer: of an operation's, or of what is downloaded.
    struct Key: Hashable, Sendable {
        let direction: TransferDirection
        /// The operation, or the node.
        let number: Int64
        let section: ContentSections
    }

    struct Entry: Sendable {
        let node: Int64
        var size: Int64?
        var done: Int64 = 0
        /// Whether all of it has passed, and the commit that says so may be under way.
        var hasPassed = false
    }

    /// What is done with, of a node.
    struct Done: Sendable {
        var files = 0
        var bytes: Int64 = 0
    }

    struct State {
        var entries: [Key: Entry] = [:]
        var running: [TransferDirection: Int] = [:]
        var done: [TransferWindow.Source: Done] = [:]
        var window = TransferWindow()
        var watchers: [Int: AsyncStream<Void>.Continuation] = [:]
        var lastWatcher = 0
        var isClosed = false
    }

    let clock: any PipelineClock
    private let state = Mutex(State())
    /// How many downloads that have passed are kept apart, for readers who look whether their marks were taken back.
    private static let mostPassed = 1024

    init(_ clock: any PipelineClock) { self.clock = clock }

    // MARK: Transfers

    /// Notes that a transfer begins, in place of an earlier one.
    func begin(_ key: Key, of node: Int64, size: Int64?) -> FollowedTransfer {
        change { state in
            let count = state.running[key.direction, default: 0]
            state.window.begin(key.direction, isFirst: count == 0, at: clock.now)
            state.running[key.direction] = count + 1
            state.entries[key] = Entry(node: node, size: size)
        }
        return FollowedTransfer(self, key)
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
            if !entry.hasPassed { state.entries[key] = nil }
            // Whose upload has passed is told by its operation.
            guard key.direction == .download, state.entries.count > Self.mostPassed else { return }
            for key in state.entries.keys where key.direction == .download && state.entries[key]?.hasPassed ?? false {
                state.settle(key)
            }
        }
    }

    /// Takes note of what has become of operations.
    func note(_ event: PipelineEvent) {
        switch event {
        case .finished(let id, _): settle(id.number) { $0.settle($1) }
        case .retrying(let id, _, _), .waiting(let id, _), .failed(let id, _), .lost(let id):
            settle(id.number) { state, key in state.entries[key] = nil }
        default: ring()
        }
    }

    private func settle(_ operation: Int64, _ body: (inout State, Key) -> Void) {
        change { state in
            for section in [ContentSections.data, .metadata, .thumbnail] {
                let key = Key(direction: .upload, number: operation, section: section)
                if state.entries[key]?.hasPassed ?? false { body(&state, key) }
            }
        }
    }

    /// Counts transfers as done whose operations or marks are gone.
    func settle(_ keys: [Key]) {
        guard !keys.isEmpty else { return }
        state.withLock { state in
            for key in keys where state.entries[key]?.hasPassed ?? false { state.settle(key) }
        }
    }

    // MARK: Reading

    /// What there is at this moment.
    var snapshot: State { state.withLock { $0 } }

    // MARK: Watching

    /// Rings whenever something has changed, and ends with the account. Rings that nobody has heard are one.
    func rings() -> (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation) {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number: Int? = state.withLock { state in
            guard !state.isClosed else { return nil }
            state.lastWatcher += 1
            state.watchers[state.lastWatcher] = continuation
            return state.lastWatcher
        }
        if let number {
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.watchers.removeValue(forKey: number) }
            }
        } else {
            continuation.finish()
        }
        return (stream, continuation)
    }

    /// Rings.
    func ring() { change { _ in } }

    private func change(_ body: (inout State) -> Void) {
        let watchers = state.withLock { state in
            body(&state)
            return Array(state.watchers.values)
        }
        for watcher in watchers { watcher.yield() }
    }

    func close() {
        let watchers = state.withLock { state in
            state.isClosed = true
            defer { state.watchers = [:] }
            return Array(state.watchers.values)
        }
        for watcher in watchers { watcher.finish() }
    }
}

extension TransferBook.State {
    /// Counts a transfer as done.
    fileprivate mutating func settle(_ key: TransferBook.Key) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        let source = TransferWindow.Source(direction: key.direction, node: entry.node)
        // The sections of a file that go together are one file; it is the data that counts.
        let isAlone = !entries.contains { $0.key.direction == key.direction && $0.key.number == key.number }
        done[source, default: TransferBook.Done()].files += isAlone ? 1 : 0
        done[source, default: TransferBook.Done()].bytes += entry.done
    }
}

/// A transfer that tells how far it is. Whatever becomes of it, ``end()`` is called.
struct FollowedTransfer: Sendable {
    private let book: TransferBook
    private let key: TransferBook.Key

    fileprivate init(_ book: TransferBook, _ key: TransferBook.Key) { (self.book, self.key) = (book, key) }

    /// Notes that bytes have passed, which end at a position of the whole.
    func pass(_ bytes: Int64, to position: Int64) { book.change(key, passed: bytes) { $0.done = position } }

    /// Notes how large the whole is, and from where it goes on.
    func resume(at position: Int64, of size: Int64?) {
        book.change(key) { ($0.done, $0.size) = (position, size ?? $0.size) }
    }

    /// Notes that all of it has passed.
    func pass(all size: Int64) { book.change(key) { ($0.done, $0.size, $0.hasPassed) = (size, size, true) } }

    /// Notes that it is over. What has not passed as a whole counts no more.
    func end() { book.end(key) }
}

extension RemoteBody {
    /// The same bytes, which tell a transfer when they pass.
    func followed(by transfer: FollowedTransfer) -> RemoteBody {
        var followed = RemoteBody(size: size) { [self] range in
            let chunks = FollowedChunks(try await chunks(range), from: range.lowerBound, transfer)
            return AsyncThrowingStream(unfolding: { try await chunks.next() })
        }
        (followed.mark, followed.mediaType) = (mark, mediaType)
        return followed
    }
}

private actor FollowedChunks {
    private let iterator: AsyncThrowingStream<Data, any Error>.Iterator
    private var position: Int64
    private let transfer: FollowedTransfer

    init(_ chunks: AsyncThrowingStream<Data, any Error>, from position: Int64, _ transfer: FollowedTransfer) {
        (iterator, self.position, self.transfer) = (chunks.makeAsyncIterator(), position, transfer)
        transfer.resume(at: position, of: nil)
    }

    func next() async throws -> Data? {
        // A copy reads the same stream.
        var iterator = iterator
        guard let chunk = try await iterator.next(isolation: self) else { return nil }
        position += Int64(chunk.count)
        transfer.pass(Int64(chunk.count), to: position)
        return chunk
    }
}
