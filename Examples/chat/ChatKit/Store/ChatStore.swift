import Foundation
import Logging
import Strata
import StrataPipeline

/// One user's buddies, messages and queues, in a file.
///
/// All messages are inserted through one context, one block at a time. So their places are in the order of the commits,
/// and a reader that follows the places misses no message.
struct ChatStore: Sendable {
    let stack: ContextStack
    /// The user that the store belongs to.
    let user: String
    private let writer: ContextHandle

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
        writer = try stack.create(.private, named: "writer")
        self.user = user
    }

    func buddyNames() async throws -> [String] {
        try await stack.background { context in try context.column(Buddy.byName, \.name) }
    }

    /// Changes the store, all or nothing. After a conflict with another writer, the block runs again on the new state.
    func write<T: Sendable>(_ body: @escaping @Sendable (ObjectContext) throws -> T) async throws -> T {
        for _ in 0..<8 {
            let result = try await writer.perform { context -> T? in
                do {
                    let result = try body(context)
                    try context.commit()
                    return result
                } catch let error as StrataError where error.code == .conflict || error.code == .notUnique {
                    context.rollback()
                    return nil
                } catch {
                    context.rollback()
                    throw error
                }
            }
            if let result { return result }
        }
        throw ChatError.busy
    }
}

enum ChatError: Error, CustomStringConvertible {
    case busy

    var description: String { "other processes keep changing the store" }
}

extension ObjectContext {
    /// The buddy with this name. If it does not exist, it is created with a new key.
    func buddy(_ name: String) throws -> Buddy {
        try first(Buddy.where { $0.name == name }) ?? insert(Buddy(name: name, ownKey: KeyPair().bytes))
    }

    /// The place of the next message.
    func nextPlace() throws -> Int { (try last(Message.byPlace)?.place ?? 0) + 1 }
}
