import NIOCore
import NIOPosix
import StrataPipeline
import Synchronization

/// A client's connection to the server, which is made again whenever it breaks.
///
/// Knows whether the server is there and which buddies are, and whoever waits for an answer is told when it will not
/// come.
final class Connection: Sendable {
    typealias Writer = NIOAsyncChannelOutboundWriter<Frame>

    private struct State {
        /// Nil while there is no connection.
        var writer: Writer?
        var here: Set<String> = []
        var buddies: Set<String>
        /// Why the last connection has ended, or could not be made.
        var trouble: String?
    }

    let name: String
    /// That there is a connection.
    let constraint = ManualConstraint(.server, isSatisfied: false)
    /// Who waits for an answer.
    let replies = Replies()
    private let port: Int
    private let state: Mutex<State>
    private let changed: Bell

    /// - Parameters:
    ///   - buddies: whose coming and going is to be known.
    ///   - changed: is rung when something is different here.
    init(name: String, port: Int, buddies: some Sequence<String>, changed: Bell) {
        self.name = name
        self.port = port
        self.changed = changed
        state = Mutex(State(buddies: Set(buddies)))
    }

    var isThere: Bool { state.withLock { $0.writer != nil } }

    /// Why there is no connection; nil while there is one, or was none yet.
    var trouble: String? { state.withLock { $0.writer == nil ? $0.trouble : nil } }

    func isHere(_ buddy: String) -> Bool { state.withLock { $0.here.contains(buddy) } }

    /// Those of the buddies that are there; nil while there is no connection.
    var here: Set<String>? { state.withLock { $0.writer == nil ? nil : $0.here } }

    /// Sends a parcel, if there is a connection; whether it arrives is for its answer to say.
    ///
    /// - Returns: false if there is no connection.
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

    /// Wants to know of one more buddy, now and at every connection to come.
    func watch(_ buddy: String) async {
        let writer = state.withLock { $0.buddies.insert(buddy).inserted ? $0.writer : nil }
        // Where this fails, the next connection tells the server.
        try? await writer?.write(.watch(buddy: buddy))
    }

    /// Connects, again and again.
    ///
    /// - Parameter receive: is given each parcel, one after the other.
    /// - Throws: ``Replaced``; what `receive` throws; `CancellationError`.
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
                    throw FrameError.malformed("a server does not say that")
                }
            }
        }
    }

    /// - Returns: buddies of whom the server was not told: those that have come up since, and of very many the rest.
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
        // Also where it has come again: what was on the way to its connection before may be lost.
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
        case is NIOConnectionError: "nobody answers on its port"
        case is IOError, is ChannelError: "the connection has broken"
        case is CancellationError: "this client ends"
        default: "\(error)"
        }
    }
}

/// That what has come could not be dealt with here.
private struct ReceivingFailed: Error {
    let underlying: any Error
}

/// That somebody has logged in under the same name, so that this client has to go.
public struct Replaced: Error, CustomStringConvertible {
    public let description = "somebody has logged in under your name"
}

/// That the server has ended the connection.
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
