import Foundation
import Strata
import StrataPipeline

/// One user's chat client: it reads lines from the user and writes lines to the screen.
public struct ChatClient: Sendable {
    private let store: ChatStore
    private let screen: Screen
    private let connection: Connection
    private let broker: TaskBroker
    private let changed = Bell()
    private let last: Int

    /// - Throws: errors of the store.
    public static func open(_ options: ClientOptions, file: URL, screen: Screen) async throws -> ChatClient {
        let store = try await ChatStore(.sqlite(file), user: options.name)
        do {
            return try await ChatClient(store, options, screen)
        } catch {
            try? await store.stack.close()
            throw error
        }
    }

    private init(_ store: ChatStore, _ options: ClientOptions, _ screen: Screen) async throws {
        self.store = store
        self.screen = screen
        last = options.last
        connection = Connection(
            name: options.name,
            port: options.port,
            buddies: try await store.buddyNames(),
            changed: changed
        )
        broker = try await TaskBroker.open(
            store.stack,
            handles: { $0.isChat },
            options: PipelineOptions(
                maxConcurrent: 64,
                retry: RetryPolicy(maxAttempts: nil, cap: .seconds(10)),
                constraints: [connection.constraint],
                // If the client is killed repeatedly, its operations are not the cause. So crashes must not stop them.
                maxCrashes: .max
            ),
            handler: Courier(store: store, connection: connection)
        )
    }

    /// Runs until the input ends, or until the user quits.
    ///
    /// - Throws: ``Replaced``; errors of the store and of the screen.
    public func run<Lines: AsyncSequence<String, Never> & Sendable>(_ lines: Lines) async throws {
        let transcript = Transcript(store: store, screen: screen, last: last)
        let lookout = Lookout(store: store, connection: connection, broker: broker, screen: screen)
        let commands = Commands(store: store, connection: connection, screen: screen, changed: changed)
        let events = broker.events
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await transcript.run() }
            group.addTask { try await connection.run(receive: receive) }
            group.addTask { try await lookout.run(changed.rings) }
            group.addTask { for await _ in events { changed.ring() } }
            group.addTask {
                for await line in lines where try await commands.obey(line) == .quit { break }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Closes the broker and the store. Queued operations stay in the store.
    public func close() async throws {
        await broker.close()
        try await store.stack.close()
    }

    /// Stores a received parcel, and then answers it.
    private func receive(_ parcel: Parcel, from sender: String) async throws {
        connection.replies.put(parcel, from: sender)
        guard let answer = try await store.receive(parcel, from: sender) else { return }
        if case .refused(let reason) = answer.content { screen.note("refused a message from \(sender): \(reason)") }
        await connection.watch(sender)
        _ = try await connection.send(answer, to: sender)
    }
}
