import NIOCore
import NIOPosix
import StrataPipeline
import Synchronization

/// A client's connection to the server, which reconnects after every failure.
///
/// Knows whether the server is connected and which buddies are online. Notifies waiting operations when their answer
/// can no longer arrive.
final class Connection: Sendable {
    typealias Writer = NIOAsyncChannelOutboundWriter<Frame>

    private struct State {
        /// Nil while the client is not connected.
        var writer: Writer?
        var here: Set<String> = []
        var buddies: Set<String>
        /// The reason why the last connection ended, or why it could not be made.
        var trouble: String?
    }

    let name: String
    /// Satisfied while the client is connected.
    let constraint = ManualConstraint(.server, isSatisfied: false)
    /// The operations that wait for an answer.
    let replies = Replies()
    private let port: Int
    private let state: Mutex<State>
    private let changed: Bell

    /// - Parameters:
    ///   - buddies: the buddies whose presence the client watches.
    ///   - changed: rings when the state of the connection changes.
    init(name: String, port: Int, buddies: some Sequence<String>, changed: Bell) {
        self.name = name
        self.port = port
        self.changed = changed
        state = Mutex(State(buddies: Set(buddies)))
    }

    var isThere: Bool { state.withLock { $0.writer != nil } }

    /// The reason why the client is not connected. Nil while it is connected, and before the first attempt.
    var trouble: String? { state.withLock { $0.writer == nil ? $0.trouble : nil } }

    func isHere(_ buddy: String) -> Bool { state.withLock { $0.here.contains(buddy) } }

    /// The buddies that are online. Nil while the client is not connected.
    var here: Set<String>? { state.withLock { $0.writer == nil ? nil : $0.here } }

    /// Sends a parcel if the client is connected. Only its answer proves that the parcel has arrived.
    ///
    /// - Returns: false if the client is not connected.
    func send(_ parcel: Parcel, to buddy: String) async throws -> Bool {
        guard let writer = state.withLock({ $0.writer }) else { return false }
        do {
            try await writer.write(.send(parcel: parcel, to: buddy))
            return true
        } catch let error as FrameError {
            throw error
        } catch {
            try Task.checkCancellation()
            return false
        }
    }

    /// Watches one more buddy's presence, on this connection and on all later ones.
    func watch(_ buddy: String) async {
        let writer = state.withLock { $0.buddies.insert(buddy).inserted ? $0.writer : nil }
        // If this write fails, the next connection sends the name.
        try? await writer?.write(.watch(buddy: buddy))
    }

    /// Connects repeatedly until an error stops the client.
    ///
    /// - Parameter receive: receives the parcels, one at a time.
    /// - Throws: ``Replaced``; errors of `receive`; `CancellationError`.
    func run(receive: @Sendable (Parcel, _ sender: String) async throws -> Void) async throws {
        var backoff = Backoff()
        while true {
            do {
                try await connect(&backoff, receive)
                end("the server has closed the connection")
            } catch {
                if let failure = error as? ReceivingFailed { throw failure.underlying }
                if error is Replaced { throw error }
                end(Self.text(of: error))
            }
            try await Task.sleep(for: backoff.next())
        }
    }

    private func connect(
        _ backoff: inout Backoff,
        _ receive: (Parcel, _ sender: String) async throws -> Void
    ) async throws {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connectTimeout(.seconds(5))
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try FrameCodec.add(to: channel)
                    return try NIOAsyncChannel<Frame, Frame>(wrappingChannelSynchronously: channel)
                }
            }
        try await channel.executeThenClose { inbound, outbound in
            let buddies = state.withLock { $0.buddies }.sorted().prefix(UserName.buddyLimit)
            try await outbound.write(.login(name: name, buddies: Array(buddies)))
            for try await frame in inbound {
                switch frame {
                case .welcome(let here):
                    backoff.reset()
                    let missed = begin(outbound, Set(here), told: Set(buddies))
                    for buddy in missed { try await outbound.write(.watch(buddy: buddy)) }
                case .presence(let buddy, let isHere):
                    note(buddy, isHere)
                case .parcel(let parcel, let sender):
                    do {
                        try await receive(parcel, sender)
                    } catch {
                        throw ReceivingFailed(underlying: error)
                    }
                case .goodbye(.replaced):
                    throw Replaced()
                case .goodbye(let reason):
                    throw Refused(reason: reason)
                case .login, .watch, .send:
                    throw FrameError.malformed("a server does not send this frame")
                }
            }
        }
    }

    /// - Returns: the buddies that the login did not name: buddies added since then, and buddies above the login's
    ///   limit.
    private func begin(_ writer: Writer, _ here: Set<String>, told: Set<String>) -> Set<String> {
        let missed = state.withLock { state in
            state.writer = writer
            state.here = here
            return state.buddies.subtracting(told)
        }
        constraint.set(true)
        changed.ring()
        return missed
    }

    private func note(_ buddy: String, _ isHere: Bool) {
        state.withLock { state in
            if isHere { state.here.insert(buddy) } else { state.here.remove(buddy) }
        }
        // Also if the buddy has reconnected, because parcels to its previous connection may be lost.
        replies.giveUp(on: buddy)
        changed.ring()
    }

    private func end(_ trouble: String) {
        state.withLock { state in
            state.writer = nil
            state.here = []
            state.trouble = trouble
        }
        constraint.set(false)
        replies.giveUp()
        changed.ring()
    }

    private static func text(of error: any Error) -> String {
        switch error {
        case is NIOConnectionError: "no server answers on its port"
        case is IOError, is ChannelError: "the connection has broken"
        case is CancellationError: "this client ends"
        default: "\(error)"
        }
    }
}

/// The client could not process a received parcel.
private struct ReceivingFailed: Error {
    let underlying: any Error
}

/// Another client has logged in under the same name, so this client must end.
public struct Replaced: Error, CustomStringConvertible {
    public let description = "another client has logged in under your name"
}

/// The server has ended the connection.
private struct Refused: Error, CustomStringConvertible {
    let reason: Frame.Goodbye

    var description: String {
        switch reason {
        case .replaced: Replaced().description
        case .malformed: "the server does not understand this client"
        case .full: "the server is full"
        }
    }
}
