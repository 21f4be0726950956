import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Synchronization

@testable import StrataCloud

/// A content that a test gives piece by piece, when it is read for being sent: larger than what is read once, and kept until then.
final class Feed: Sendable {
    enum Step: Sendable { case request, chunk }

    let size: Int
    private let chunks: AsyncThrowingStream<Data, any Error>
    private let input: AsyncThrowingStream<Data, any Error>.Continuation
    private let steps = (request: Signal(), chunk: Signal())
    private let readings = Mutex(0)

    /// Something that happens again and again.
    private struct Signal: Sendable {
        let stream: AsyncStream<Void>
        let continuation: AsyncStream<Void>.Continuation

        init() { (stream, continuation) = AsyncStream.makeStream(of: Void.self) }
    }

    init(size: Int) {
        self.size = size
        (chunks, input) = AsyncThrowingStream.makeStream(of: Data.self)
    }

    func give(_ count: Int) { input.yield(Data(repeating: 1, count: count)) }

    func finish() { input.finish() }

    /// Waits until the content is asked for, or its next piece has passed.
    func reached(_ step: Step) async throws {
        let signal = step == .request ? steps.request : steps.chunk
        for await _ in signal.stream { return }
        throw CancellationError()
    }

    /// The first reading is for the print, and gets all at once; the others get what the test gives.
    var body: RemoteBody {
        RemoteBody(size: Int64(size)) { [self] _ in
            let isFirst = readings.withLock { count in
                defer { count += 1 }
                return count == 0
            }
            if isFirst { return RemoteBody.pieces([Data(repeating: 1, count: size)]) }
            steps.request.continuation.yield()
            let reader = Reader(chunks, steps.chunk.continuation)
            return AsyncThrowingStream(unfolding: { try await reader.next() })
        }
    }

    /// Says of each piece that it has passed when the next one is asked for.
    private actor Reader {
        private let iterator: AsyncThrowingStream<Data, any Error>.Iterator
        private let passed: AsyncStream<Void>.Continuation
        private var isFirst = true

        init(_ chunks: AsyncThrowingStream<Data, any Error>, _ passed: AsyncStream<Void>.Continuation) {
            (iterator, self.passed) = (chunks.makeAsyncIterator(), passed)
        }

        func next() async throws -> Data? {
            if !isFirst { passed.yield() }
            isFirst = false
            var iterator = iterator
            return try await iterator.next(isolation: self)
        }
    }
}

extension RemoteBody {
    fileprivate static func pieces(_ pieces: [Data]) -> AsyncThrowingStream<Data, any Error> {
        AsyncThrowingStream { continuation in
            for piece in pieces { continuation.yield(piece) }
            continuation.finish()
        }
    }
}

/// An account with one node, whose content a test feeds.
struct FeedWorld {
    private struct Handler: CloudHandler {
        let feed: Feed

        func content(for request: ContentRequest) async throws -> RemoteBody? { feed.body }
    }

    let stack: ContextStack
    let account: CloudAccount

    init(_ feed: Feed, _ clock: VirtualClock) async throws {
        stack = try await ContextStack.open(.inMemory, models: CloudAccount.models, stack: .rootOnly)
        account = try await CloudAccount.open(
            stack,
            id: "alice",
            remote: StrictRemote(),
            handler: Handler(feed: feed),
            options: CloudOptions(clock: clock)
        )
        try await account.commit { _ = try $0.createNode(at: "/film") }
    }

    /// Waits until nothing is queued any more, and suspends it.
    func drained() async throws {
        let events = account.push.events
        while try await stack.background({ try $0.count(QueuedOperation.all) }) > 0 {
            for await case .finished in events { break }
        }
        // Behind the commit it is told of.
        await account.push.settle()
        account.push.suspend()
    }
}
