import Foundation
import Logging
import Strata
import StrataPipeline

/// One user's buddies, messages and queues, in a file.
///
/// All messages are inserted by blocks of `write`, which run one at a time. So their places are in the order of the
/// commits, and a reader that follows the places misses no message.
struct ChatStore: Sendable {
    let stack: ContextStack
    /// The user that the store belongs to.
    let user: String

    /// The client itself reports permanent failures, so the logger only reports errors.
    private static var logger: Logger {
        var logger = Logger(label: "chat")
        logger.logLevel = .error
        return logger
    }

    /// - Throws: errors of the store.
    init(_ place: StoreLocation, user: String) async throws {
        stack = try await ContextStack.open(
            place,
            models: [Buddy.self, Message.self] + Pipeline.models,
            stack: .rootOnly,
            logger: Self.logger
        )
        self.user = user
    }

    func buddyNames() async throws -> [String] {
        try await stack.background { context in try context.column(Buddy.byName, \.name) }
    }

    /// Changes the store, all or nothing. If another process commits first, the block runs again on the new state.
    func write<T: Sendable>(_ body: @escaping @Sendable (ObjectContext) throws -> T) async throws -> T {
        try await stack.write(body)
    }
}

extension ObjectContext {
    /// The buddy with this name. If it does not exist, it is created with a new key.
    func buddy(_ name: String) throws -> Buddy {
        try first(Buddy.where { $0.name == name }) ?? insert(Buddy(name: name, ownKey: KeyPair().bytes))
    }

    /// The place of the next message.
    func nextPlace() throws -> Int { (try last(Message.byPlace)?.place ?? 0) + 1 }
}
