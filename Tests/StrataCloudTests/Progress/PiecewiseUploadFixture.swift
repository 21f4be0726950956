import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Synchronization

@testable import StrataCloud

/// Content that a test provides piece by piece while an upload reads it. It is larger than a single read, and it is
/// kept until it is sent.
final class Feed: Sendable {
    enum Step: Sendable { case request, chunk }

    let size: Int
    private let chunks: AsyncThrowingStream<Data, any Error>
    private let input: AsyncThrowingStream<Data, any Error>.Continuation
    private let steps = (request: Signal(), chunk: Signal())
    private let readings = Mutex(0)

    /// A signal that can fire repeatedly.
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

    /// Waits until the upload asks for the content, or until its next piece has passed.
    func reached(_ step: Step) async throws {
        let signal = step == .request ? steps.request : steps.chunk
        for await _ in signal.stream { return }
        throw CancellationError()
    }

    /// The first reading computes the content's hash, and gets all bytes at once. Later readings get the pieces of the
    /// test.
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

    /// Signals that a piece has passed when the reader asks for the next one.
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

/// An account with one node, whose content a test provides piece by piece.
struct PiecewiseUploadFixture {
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

    /// Waits until the queue is empty, and suspends the account.
    func waitUntilIdle() async throws {
        let events = account.uploads.events
        while try await stack.background({ try $0.count(QueuedOperation.all) }) > 0 {
            for await case .finished in events { break }
        }
        // The account reports the end of an operation after the commit.
        await account.uploads.waitForPasses()
        account.uploads.suspend()
    }
}
