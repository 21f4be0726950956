import Dispatch
import Foundation
import Strata

extension HomePromise {
    static func checkOutcome(_ nodes: [HomeNode]) throws {
        for node in nodes { try node.open() }
        let stored = try (Int64(1)...3).map { try nodes[0].publish(SampleStore.insertion($0)).position.id }
        for node in nodes {
            for id in stored { try expect("the outcome", is: try node.home.outcome(of: id), true) }
            try expect("the outcome of another id", is: try node.home.outcome(of: UUID()), false)
        }
    }

    static func checkIDs(_ nodes: [HomeNode]) throws {
        for node in nodes { try node.open() }
        // Two threads of each node reserve at the same time.
        let threads = (nodes + nodes).enumerated().map { index, node in
            HomeThread {
                try (Int64(1)...20).map { count in
                    let first = try node.home.reserveIDs(count * Int64(index + 1))
                    return first..<first + count * Int64(index + 1)
                }
            }
        }
        let ranges = try threads.flatMap { try $0.value() }.sorted { $0.lowerBound < $1.lowerBound }
        try expect(ranges[0].lowerBound > 0, "The id \(ranges[0].lowerBound) is reserved.")
        for (range, next) in zip(ranges, ranges.dropFirst()) {
            try expect(range.upperBound <= next.lowerBound, "\(range) and \(next) have the same ids.")
        }
        // A node that opens the store later gets later ids.
        nodes[0].home.close()
        let last = try nodes[1].home.reserveIDs(1)
        try expect(ranges.allSatisfy { !$0.contains(last) }, "The id \(last) is reserved twice.")
    }

    /// Notifications may be missing, so several transactions are published.
    static func checkNotifications(_ nodes: [HomeNode]) throws {
        for node in nodes { try node.open() }
        let notified = DispatchSemaphore(value: 0)
        nodes[0].home.listen { notified.signal() }
        for id in Int64(1)...10 {
            try nodes[1].publish(SampleStore.insertion(id))
            if notified.wait(timeout: .now() + 3) == .success { return }
        }
        throw HomeFailure(description: "10 transactions of another node have not been notified within 30 seconds.")
    }

    static func checkPositions(_ nodes: [HomeNode]) throws {
        for node in nodes { try node.open() }
        let published = try (Int64(1)...3).map { try nodes[0].publish(SampleStore.insertion($0)).position }
        let unknown = [
            HomePosition(number: 2, id: UUID()), HomePosition(number: 3, id: UUID()),
            HomePosition(number: 3, id: published[1].id), HomePosition(number: 4, id: UUID()),
            HomePosition(number: 4, id: published[2].id), HomePosition(number: .max, id: UUID()),
        ]
        for position in unknown {
            for node in nodes {
                try expect(.homeBehind, from: "reading after \(position)") {
                    _ = try node.home.transactions(after: position, limit: 10)
                }
                try expect(.homeBehind, from: "the lock after \(position)") {
                    _ = try node.home.lock(after: position, limit: 10)
                }
            }
        }
        // The errors have freed the lock.
        for node in nodes { try node.lockAndUnlock() }
        for (index, position) in published.enumerated() {
            let found = try nodes[1].home.transactions(after: position, limit: 10).transactions.map(\.position)
            try expect("the transactions after \(position)", is: found, Array(published[(index + 1)...]))
        }
    }

    static func checkClosing(_ nodes: [HomeNode]) throws {
        let state = try nodes[0].open()
        try nodes[1].open()
        let first = try nodes[0].publish(SampleStore.insertion(1))
        nodes[0].home.close()
        nodes[0].home.close()
        nodes[0].home.unlock()
        if (try? nodes[0].home.newest()) != nil { throw HomeFailure(description: "A closed node answers.") }
        let second = try nodes[1].publish(SampleStore.insertion(2))
        nodes[1].home.close()
        // All nodes are closed. The store remains.
        let found = try nodes[2].open()
        try expect("the position", is: found.position, second.position)
        try expect("the fingerprint", is: found.fingerprint, state.fingerprint)
        let positions = try nodes[2].transactions().map(\.position)
        try expect("the transactions", is: positions, [first.position, second.position])
    }
}
