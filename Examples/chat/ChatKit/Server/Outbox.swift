import NIOCore

/// What is to be written to one connection.
///
/// Nobody waits for a client that reads slowly: where it is too far behind, its connection is closed. Nothing is lost
/// by that, as what it has not acknowledged is sent again.
final class Outbox: Sendable {
    private static let limit = 256

    let frames: AsyncStream<Frame>
    private let continuation: AsyncStream<Frame>.Continuation
    private let channel: any Channel

    init(_ channel: any Channel) {
        self.channel = channel
        (frames, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.limit))
    }

    func put(_ frame: Frame) {
        if case .dropped = continuation.yield(frame) { cut() }
    }

    /// Has the connection closed when what is in here is written.
    func finish(with frame: Frame? = nil) {
        if let frame { put(frame) }
        continuation.finish()
    }

    /// Closes the connection as it is.
    func cut() { channel.close(promise: nil) }
}
