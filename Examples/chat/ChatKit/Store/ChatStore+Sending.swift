import Strata
import StrataPipeline

extension ChatStore {
    private static let exchangeKey = "exchange"

    /// Queues a message in the commit that stores it. The first message also queues an exchange of keys.
    func send(_ text: String, to name: String) async throws {
        try await write { context in
            let buddy = try context.buddy(name)
            let exchange = buddy.isReady ? nil : try exchange(with: name, in: context)
            let operation = context.enqueue(Letter(kind: .message), in: .chat(with: name))
            // The queue's order already guarantees this, unless the user reorders the queue.
            if let exchange { try operation.addDependencies([exchange]) }
            context.insert(
                Message(
                    place: try context.nextPlace(),
                    sender: user,
                    operation: "\(operation.id)",
                    number: (try buddy.messages.where { $0.sender == user }.sorted { $0.number }.last?.number ?? 0) + 1,
                    text: text,
                    buddy: buddy
                )
            )
        }
    }

    /// Retries the failed operations of a buddy.
    ///
    /// - Returns: the number of these operations.
    func retry(_ name: String) async throws -> Int {
        try await write { context in try context.retryFailed(in: .chat(with: name)) }
    }

    /// Accepts the buddy's current key, whichever it is, and retries failed operations after a new exchange of keys.
    func trust(_ name: String) async throws {
        try await write { context in
            let buddy = try context.buddy(name)
            buddy.theirKey = nil
            buddy.hasOwnKey = false
            buddy.newest = 0
            let exchange = try exchange(with: name, in: context)
            exchange.sortKey = -1
            let queue = PipelineName.chat(with: name)
            for operation in try context.fetch(QueuedOperation.where { $0.pipeline == queue }) {
                if operation !== exchange { try operation.addDependencies([exchange]) }
                if operation.status == .failed { operation.retry() }
            }
        }
    }

    /// The queued exchange, or a new one.
    private func exchange(with name: String, in context: ObjectContext) throws -> QueuedOperation {
        let queue = PipelineName.chat(with: name)
        let key = Self.exchangeKey
        return try context.first(QueuedOperation.where { $0.pipeline == queue && $0.key == key })
            ?? context.enqueue(Letter(kind: .exchange), in: queue, key: key)
    }
}
