import Foundation
import Strata
import StrataPipeline

/// Looks at what waits whenever something has changed: tells the user, and the broker who is there.
struct Lookout: Sendable {
    /// What the user was told last.
    private struct Told {
        var isThere: Bool?
        var here: Set<String>?
        var stuck: [String: String] = [:]
    }

    let store: ChatStore
    let connection: Connection
    let broker: TaskBroker
    let screen: Screen

    /// - Throws: what the store reports.
    func run(_ rings: AsyncStream<Void>) async throws {
        var told = Told()
        var constraints: [String: ManualConstraint] = [:]
        for await _ in rings {
            try await tellBroker(&constraints)
            tellOfConnection(&told)
            // Before it has tried to connect, it knows of nobody why they are not here.
            if told.isThere != nil { try await tellOfQueues(&told) }
        }
    }

    /// Says of each buddy whether it is there: then what has waited for it is tried again.
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
            // While there was no connection, nobody could be seen to go.
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
        // What goes on, but is not done yet, stays told of until it is.
        for (buddy, _) in told.stuck where stuck[buddy] == nil && queues.contains(where: { $0.buddy == buddy }) {
            stuck[buddy] = ""
        }
        told.stuck = stuck
    }
}
