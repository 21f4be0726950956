import Foundation
import Strata

extension HomePromise {
    static func checkCreation(_ nodes: [HomeNode]) throws {
        let threads = nodes.map { node in HomeThread { try node.open() } }
        let states = try threads.map { try $0.value() }
        for state in states {
            try expect(state.fingerprint > 0, "The fingerprint is 0.")
            try expect("the fingerprint", is: state.fingerprint, states[0].fingerprint)
            try expect("the description", is: state.description, SampleStore.description)
            try expect("the position", is: state.position, .start)
        }
        try expect("the rows", is: try nodes[0].copy().rows, SampleRows())
        try expect("the transactions", is: try nodes[0].transactions().count, 0)
    }

    static func checkDescription(_ nodes: [HomeNode]) throws {
        let first = try nodes[0].open()
        let transaction = try nodes[0].publish(SampleStore.insertion(1))
        var proposal = SampleStore.description
        proposal.version += 1
        proposal.schema = "another schema"
        proposal.steps = []
        proposal.tables.removeLast()
        let second = try nodes[1].open(proposal)
        try expect("the description", is: second.description, SampleStore.description)
        try expect("the fingerprint", is: second.fingerprint, first.fingerprint)
        try expect("the position", is: second.position, transaction.position)
    }

    static func checkOrder(_ nodes: [HomeNode]) throws {
        for node in nodes { try node.open() }
        var published: [HomeTransaction] = []
        for id in 1...6 {
            let transaction = try nodes[id % 3].publish(SampleStore.insertion(Int64(id)))
            try expect("the position before", is: transaction.previous, published.last?.position ?? .start)
            published.append(transaction)
            for node in nodes { try expect("the newest", is: try node.home.newest(), transaction.position) }
        }
        for node in nodes {
            let found = try node.transactions()
            try expect("the number of transactions", is: found.count, published.count)
            for (found, published) in zip(found, published) { try found.expectSame(as: published) }
        }
    }

    static func checkLimit(_ nodes: [HomeNode]) throws {
        for node in nodes { try node.open() }
        let published = try (Int64(1)...5).map { try nodes[0].publish(SampleStore.insertion($0)).position }
        let home = nodes[1].home
        func read(_ position: HomePosition, _ limit: Int) throws -> [HomePosition] {
            let portion = try home.transactions(after: position, limit: limit)
            let found = portion.transactions.map(\.position)
            try expect("whether they are all", is: portion.isComplete, (found.last ?? position) == published.last)
            return found
        }
        try expect("the first two", is: try read(.start, 2), Array(published[..<2]))
        try expect("the next two", is: try read(published[1], 2), Array(published[2..<4]))
        try expect("the last one", is: try read(published[3], 2), Array(published[4...]))
        try expect("those after the last one", is: try read(published[4], 2), [])
        try expect("all", is: try read(.start, 5), published)
        // The lock has the same limit. The node reads the other transactions while it has the lock.
        let locked = try home.lock(after: published[0], limit: 3).map(\.position)
        try expect("those of the lock", is: locked, Array(published[1..<4]))
        try expect("the rest", is: try read(published[3], 3), Array(published[4...]))
        let transaction = nodes[1].transaction(after: published[4], try SampleStore.insertion(6))
        try home.publish(transaction)
        try expect("the newest", is: try nodes[0].home.newest(), transaction.position)
    }

    static func checkOutdated(_ nodes: [HomeNode]) throws {
        for node in nodes { try node.open() }
        let first = try nodes[0].publish(SampleStore.insertion(1))
        let unknown = HomePosition(number: first.position.number, id: UUID())
        for previous in [HomePosition.start, unknown] {
            let outdated = nodes[1].transaction(after: previous, try SampleStore.insertion(2))
            let missed = try nodes[1].home.lock(after: .start, limit: 10)
            try expect("the missed transactions", is: missed.map(\.position), [first.position])
            if (try? nodes[1].home.publish(outdated)) != nil {
                throw HomeFailure(description: "A transaction after \(previous) is published.")
            }
            try expect("the newest", is: try nodes[0].home.newest(), first.position)
            try expect("the outcome", is: try nodes[0].home.outcome(of: outdated.position.id), false)
        }
        // The refusals have freed the lock.
        try nodes[2].publish(SampleStore.insertion(2))
        try expect("the number of transactions", is: try nodes[0].transactions().count, 2)
    }

    static func checkPublishingWithoutLock(_ nodes: [HomeNode]) throws {
        for node in nodes { try node.open() }
        let (left, right) = (nodes[0], nodes[1])
        let first = left.transaction(after: .start, try SampleStore.insertion(1))
        try expect("the answer", is: try left.home.publishIfNewest(first), true)
        try expect("the newest", is: try right.home.newest(), first.position)
        for previous in [HomePosition.start, HomePosition(number: first.position.number, id: UUID())] {
            let outdated = right.transaction(after: previous, try SampleStore.insertion(2))
            try expect("the answer after \(previous)", is: try right.home.publishIfNewest(outdated), false)
            try expect("the newest", is: try left.home.newest(), first.position)
            try expect("the outcome", is: try left.home.outcome(of: outdated.position.id), false)
        }
        // The timeout of the node is longer than the wait for this thread.
        _ = try left.home.lock(after: first.position, limit: 10)
        let refused = right.transaction(after: first.position, try SampleStore.insertion(2))
        let thread = HomeThread { try right.home.publishIfNewest(refused) }
        try expect("the answer during the lock", is: try thread.value(within: 30), false)
        let second = left.transaction(after: first.position, try SampleStore.insertion(3))
        try left.home.publish(second)
        // The refusals have left no lock.
        let third = right.transaction(after: second.position, try SampleStore.insertion(4))
        try expect("the answer", is: try right.home.publishIfNewest(third), true)
        try nodes[2].lockAndUnlock()
        let found = try nodes[2].transactions()
        try expect("the transactions", is: found.map(\.position), [first, second, third].map(\.position))
        try found.last?.expectSame(as: third)
        try expect("the outcome", is: try left.home.outcome(of: refused.position.id), false)
    }

    /// - Parameter publish: publishes changes of a node.
    static func checkConcurrency(
        _ nodes: [HomeNode],
        _ publish: @escaping @Sendable (HomeNode, HomeChanges) throws -> HomePosition
    ) throws {
        for node in nodes { try node.open() }
        let times: Int64 = 15
        let threads = nodes.enumerated().map { index, node in
            HomeThread {
                try (0..<times).map { time in
                    try publish(node, SampleStore.insertion(Int64(index) * times + time))
                }
            }
        }
        let published = try threads.map { try $0.value(within: 120) }
        let found = try nodes[0].transactions()
        try expect("the number of transactions", is: found.count, nodes.count * Int(times))
        var previous = HomePosition.start
        for transaction in found {
            try expect("the position before", is: transaction.previous, previous)
            previous = transaction.position
        }
        for (node, positions) in zip(nodes, published) {
            let own = found.filter { $0.node == node.id }.map(\.position)
            try expect("the transactions of a node", is: own, positions)
        }
        let store = try SampleStore()
        for id in 0..<Int64(nodes.count) * times {
            try store.insert([.integer(id), .integer(-id), .null, .null, .null])
        }
        try expect("the rows", is: try nodes[1].copy().rows, store.rows())
    }
}
