import Strata
import Synchronization

/// Tells the open pages that the store has new commits, also those of other processes.
final class CommitFeed: Sendable {
    /// A page that receives events.
    struct Client: Sendable {
        let id: Int
        /// Each element says that there may be news. Several of them become one.
        let signals: AsyncStream<Void>
        fileprivate let continuation: AsyncStream<Void>.Continuation

        /// Wakes the reader of the signals.
        func wake() { continuation.yield() }

        /// Ends the signals.
        func end() { continuation.finish() }
    }

    /// A position in the commits.
    struct Position: Sendable {
        /// The number of announcements so far. One announcement may be for several commits.
        var announcements = 0
        /// The number of the newest commit that is known.
        var commit: Int64
    }

    private struct State {
        var position: Position
        var clients: [Int: AsyncStream<Void>.Continuation] = [:]
        var nextID = 0
    }

    private let stack: ContextStack
    private let maximumClients: Int
    private let state: Mutex<State>
    private let listening = Mutex<CommitListening?>(nil)

    init(_ stack: ContextStack, maximumClients: Int) {
        self.stack = stack
        self.maximumClients = maximumClients
        state = Mutex(State(position: Position(commit: stack.historyToken.sequence)))
        let registration = stack.listen { [weak self] changes in self?.announce(changes?.last?.token.sequence) }
        listening.withLock { $0 = registration }
    }

    /// The newest position. The number of the commit is at least that of the stack.
    var position: Position {
        let newest = stack.historyToken.sequence
        var position = state.withLock { $0.position }
        position.commit = max(position.commit, newest)
        return position
    }

    private func announce(_ commit: Int64?) {
        let clients = state.withLock { state in
            state.position.announcements += 1
            state.position.commit = max(state.position.commit, commit ?? 0)
            return Array(state.clients.values)
        }
        for client in clients { client.yield() }
    }

    // MARK: Clients

    /// Whether a further client may subscribe.
    var hasPlace: Bool { state.withLock { $0.clients.count < maximumClients } }

    /// The number of clients.
    var clientCount: Int { state.withLock { $0.clients.count } }

    /// Registers a client, whose first signal comes at once; nil if there are too many.
    func subscribe() -> Client? {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id: Int? = state.withLock { state in
            guard state.clients.count < maximumClients else { return nil }
            state.nextID += 1
            state.clients[state.nextID] = continuation
            return state.nextID
        }
        guard let id else { return nil }
        continuation.yield()
        return Client(id: id, signals: signals, continuation: continuation)
    }

    func unsubscribe(_ client: Client) {
        client.end()
        state.withLock { _ = $0.clients.removeValue(forKey: client.id) }
    }
}
