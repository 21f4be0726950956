import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// Routes parcels between clients on this machine.
///
/// The server stores nothing and acknowledges nothing, so it may be ended at any time.
public struct ChatServer: Sendable {
    private typealias Client = NIOAsyncChannel<Frame, Frame>

    /// The maximum number of concurrent connections.
    private static let connectionLimit = 500

    /// The port that the server listens on.
    public let port: Int
    private let listener: NIOAsyncChannel<Client, Never>
    private let switchboard = Switchboard()
    private let connections = Connections()
    private let note: @Sendable (String) -> Void

    /// Opens a port of the loopback interface.
    ///
    /// - Parameters:
    ///   - port: the port; 0 for any free port.
    ///   - note: receives lines about errors.
    /// - Throws: ``PortError``.
    public static func open(port: Int, note: @escaping @Sendable (String) -> Void) async throws -> ChatServer {
        let listener: NIOAsyncChannel<Client, Never>
        do {
            listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .bind(host: "127.0.0.1", port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try FrameCodec.add(to: channel)
                        return try Client(wrappingChannelSynchronously: channel)
                    }
                }
        } catch let error as IOError {
            throw PortError(port: port, code: error.errnoCode)
        }
        return ChatServer(port: listener.channel.localAddress?.port ?? port, listener: listener, note: note)
    }

    /// Serves clients until the task is cancelled.
    public func run() async throws {
        try await listener.executeThenClose { clients in
            try await withThrowingDiscardingTaskGroup { group in
                for try await client in clients {
                    group.addTask { await serve(client) }
                }
            }
        }
    }

    /// Closes all connections, as a network failure would. Clients reconnect by themselves.
    public func cutAll() { connections.cutAll() }

    private func serve(_ client: Client) async {
        let outbox = Outbox(client.channel)
        let count = connections.add(outbox)
        defer { connections.remove(outbox) }
        do {
            try await client.executeThenClose { inbound, outbound in
                guard count <= Self.connectionLimit else {
                    return try await outbound.write(.goodbye(reason: .full))
                }
                try await withThrowingTaskGroup { group in
                    group.addTask {
                        for await frame in outbox.frames { try await outbound.write(frame) }
                        outbox.cut()
                    }
                    do {
                        try await read(inbound, outbox)
                    } catch let error as FrameError {
                        note("\(peer(client)) was disconnected: \(error)")
                        outbox.finish(with: .goodbye(reason: .malformed))
                        // The client may not read the goodbye, so the wait for it ends after a second.
                        group.addTask { try await Task.sleep(for: .seconds(1)) }
                    }
                    outbox.finish()
                    try await group.next()
                    group.cancelAll()
                }
            }
        } catch {
            // The connection has failed. The client reconnects.
        }
    }

    private func read(_ inbound: NIOAsyncChannelInboundStream<Frame>, _ outbox: Outbox) async throws {
        var name: String?
        defer { if let name { switchboard.leave(name, outbox) } }
        for try await frame in inbound {
            switch (frame, name) {
            case (.login(let user, let buddies), nil):
                name = user
                switchboard.enter(user, buddies: Set(buddies), outbox)
            case (.watch(let buddy), let name?):
                switchboard.watch(buddy, for: name, outbox)
            case (.send(let parcel, let buddy), let name?):
                switchboard.route(parcel, from: name, to: buddy, outbox)
            default:
                throw FrameError.malformed(
                    name == nil ? "the first frame must be a login" : "a client does not send this frame"
                )
            }
        }
    }

    private func peer(_ client: Client) -> String {
        client.channel.remoteAddress?.port.map { "the client on port \($0)" } ?? "a client"
    }
}

/// All open connections, whether logged in or not.
private final class Connections: Sendable {
    private let outboxes = Mutex<[ObjectIdentifier: Outbox]>([:])

    /// - Returns: the number of connections.
    func add(_ outbox: Outbox) -> Int {
        outboxes.withLock { outboxes in
            outboxes[ObjectIdentifier(outbox)] = outbox
            return outboxes.count
        }
    }

    func remove(_ outbox: Outbox) {
        outboxes.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(outbox)) }
    }

    func cutAll() {
        for outbox in outboxes.withLock({ Array($0.values) }) { outbox.cut() }
    }
}
