import Foundation
import Strata
import StrataPipeline

/// Reacts to every change: it reports queues and presence to the user, and presence to the broker.
struct Lookout: Sendable {
    /// The last state reported to the user.
    private struct Told {
        var isThere: Bool?
        var here: Set<String>?
        var stuck: [String: String] = [:]
    }

    let store: ChatStore
    let connection: Connection
    let broker: TaskBroker
    let screen: Screen

    /// - Throws: errors of the store.
    func run(_ rings: AsyncStream<Void>) async throws {
        var told = Told()
        var constraints: [String: ManualConstraint] = [:]
        for await _ in rings {
            try await tellBroker(&constraints)
            tellOfConnection(&told)
            // Before the first attempt to connect, the client cannot know why a buddy is offline.
            if told.isThere != nil { try await tellOfQueues(&told) }
        }
    }

    /// Sets the constraint of each buddy to its presence. When a buddy comes online, the broker retries the operations
    /// that wait for it.
    private func tellBroker(_ constraints: inout [String: ManualConstraint]) async throws {
        let here = connection.here ?? []
        for name in try await store.buddyNames() {
            if let constraint = constraints[name] {
                constraint.set(here.contains(name))
            } else {
                let constraint = ManualConstraint(.buddy(name), isSatisfied: here.contains(name))
                constraints[name] = constraint
                broker.observe(constraint)
            }
        }
    }

    private func tellOfConnection(_ told: inout Told) {
        if let here = connection.here {
            if told.isThere != true { screen.note("connected as \(store.user)") }
            told.isThere = true
            // While disconnected, the client could not see buddies leave.
            let before = told.here ?? []
            for buddy in here.subtracting(before).sorted() { screen.note("\(buddy) is here") }
            for buddy in before.subtracting(here).sorted() { screen.note("\(buddy) has gone") }
            told.here = here
        } else if let trouble = connection.trouble {
            if told.isThere != false { screen.note("no connection to the server: \(trouble)") }
            told.isThere = false
        }
    }

    private func tellOfQueues(_ told: inout Told) async throws {
        let queues = try await Waiting(store: store, connection: connection).queues(entries: 0)
        var stuck: [String: String] = [:]
        for queue in queues where queue.isBlocked { stuck[queue.buddy] = queue.line }
        for (buddy, text) in stuck.sorted(by: { $0.key < $1.key }) where told.stuck[buddy] != text {
            screen.note(text)
        }
        for buddy in told.stuck.keys.sorted() where !queues.contains(where: { $0.buddy == buddy }) {
            screen.note("\(buddy) has everything")
        }
        // A queue that has resumed but is not empty stays in this list, so that the user learns when it is done.
        for (buddy, _) in told.stuck where stuck[buddy] == nil && queues.contains(where: { $0.buddy == buddy }) {
            stuck[buddy] = ""
        }
        told.stuck = stuck
    }
}
