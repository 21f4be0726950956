import NIOCore

/// The frames to write to one connection.
///
/// The server does not wait for a client that reads slowly. If too many frames are pending, the connection is closed.
/// This loses no messages, because unacknowledged parcels are sent again.
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

    /// Closes the connection after all pending frames are written.
    func finish(with frame: Frame? = nil) {
        if let frame { put(frame) }
        continuation.finish()
    }

    /// Closes the connection at once.
    func cut() { channel.close(promise: nil) }
}
