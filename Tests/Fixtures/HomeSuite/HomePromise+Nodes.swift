import Foundation
import Strata

extension HomePromise {
    static func checkNodes(_ nodes: [HomeNode]) throws {
        for node in nodes { try node.open() }
        try expect("the number of reports", is: try nodes[0].home.nodes().count, 0)
        let unusual = "Größe ‘\"a\"; --' \\ %s"
        let first = try nodes[0].report(.start, unusual)
        try expect("the newest position", is: first.position, .start)
        let published = try (Int64(1)...3).map { try nodes[0].publish(SampleStore.insertion($0)).position }
        // The reports of the other nodes do not wait for the lock.
        _ = try nodes[0].home.lock(after: published[2], limit: 10)
        let thread = HomeThread { [second = nodes[1], third = nodes[2]] in
            let moment = try second.report(published[1], "second")
            try expect("the newest position", is: moment.position, published[2])
            try expect(moment.time >= first.time, "The clock of the home goes back: \(first.time), \(moment.time).")
            return try third.home.nodes()
        }
        let found = try thread.value(within: 30)
        nodes[0].home.unlock()
        try expect("the names", is: found.map(\.name), [unusual, "second"])
        try expect("the ids", is: found.map(\.id), [nodes[0].id, nodes[1].id])
        try expect("the positions", is: found.map(\.position), [.start, published[1]])
        try expect("the missing transactions", is: found.map(\.transactionsBehind), [3, 1])
        try expect("the surplus transactions", is: found.map(\.transactionsAhead), [0, 0])
        try expect("the newest positions", is: found.map(\.newest), [published[2], published[2]])
        try expect(found.allSatisfy { (0..<3600).contains($0.silence) }, "The nodes are silent: \(found)")
        try expect(abs(found[0].time.timeIntervalSince(first.time)) < 0.001, "The time is \(found[0].time).")
        // A later report replaces the earlier one, also that of another opening of the same node.
        try nodes[2].report(published[2], "second")
        let replaced = try nodes[0].home.nodes()
        try expect("the names", is: replaced.map(\.name), [unusual, "second"])
        try expect("the id", is: replaced[1].id, nodes[2].id)
        try expect("the missing transactions", is: replaced.map(\.transactionsBehind), [3, 0])
        try expect(replaced[1].time >= found[1].time, "The time of the report is not new: \(replaced)")
        // A node that has seen transactions which the home has lost.
        try nodes[2].report(HomePosition(number: 5, id: UUID()), "second")
        let ahead = try nodes[0].home.nodes()
        try expect("the surplus transactions", is: ahead.map(\.transactionsAhead), [0, 2])
        try expect("the missing transactions", is: ahead.map(\.transactionsBehind), [3, 0])
    }
}

extension HomeNode {
    @discardableResult
    fileprivate func report(_ position: HomePosition, _ name: String) throws -> HomeMoment {
        try home.report(position, of: id, named: name)
    }
}
