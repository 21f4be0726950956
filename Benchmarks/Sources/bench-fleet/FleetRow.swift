import BenchFigures
import Foundation

/// A kind of work, with the number of operations that may share a transaction.
struct FleetRow: Sendable {
    enum Work: String, Sendable {
        /// Each commit adds 1 to a row of its node.
        case commits
        /// Operations of one queue are claimed, handed to a handler that does nothing, and completed.
        case claims
        /// A new node copies all rows of the home.
        case copies
    }

    let work: Work
    /// How many writers or handlers a node has at once. Their operations may share transactions.
    let group: Int

    static let all = [
        FleetRow(work: .commits, group: 1), FleetRow(work: .commits, group: 16), FleetRow(work: .claims, group: 1),
        FleetRow(work: .claims, group: 16), FleetRow(work: .copies, group: 1),
    ]

    func name(_ nodes: Int) -> String {
        let share = group == 1 ? "alone" : "\(group) at once"
        let work =
            switch self.work {
            case .commits: "one-row commits, \(share)"
            case .claims: "claim and complete, \(share)"
            case .copies: "rows of a new copy"
            }
        return "\(work), \(nodes) node\(nodes == 1 ? "" : "s")"
    }

    /// Whether the row is measured with this number of nodes. A copy concerns one node.
    func isMeasured(_ nodes: Int) -> Bool { work != .copies || nodes == 1 }

    /// The operations of the whole fleet. Each node does the same number. A row of a copy counts as one operation.
    func count(_ sizes: FleetSizes) -> Int {
        if work == .copies { return sizes.copied }
        return group == 1 ? sizes.alone : sizes.grouped
    }
}

/// The figures of one side in one round.
struct FleetSample: Sendable {
    /// Operations per second, of all nodes together.
    let rate: Double
    /// The CPU time of one node for each operation of the fleet, in microseconds. The server and the proxy are not
    /// counted.
    let cpu: Double

    init(count: Int, nodes: Int, seconds: Double, cpuSeconds: Double) {
        rate = Double(count) / seconds
        cpu = cpuSeconds * 1e6 / Double(nodes) / Double(count)
    }
}

/// The result of a row with one number of nodes.
struct FleetOutcome: Sendable, Encodable {
    let name: String
    let nodes: Int
    /// Operations per second.
    let rate: Spread
    /// Microseconds.
    let cpuPerOperationAndNode: Spread
    let plainRate: Spread
    let plainCPUPerOperationAndClient: Spread
    /// How many times as long Strata takes.
    let ratio: Double

    init(name: String, nodes: Int, strata: [FleetSample], plain: [FleetSample]) {
        self.name = name
        self.nodes = nodes
        rate = Spread(strata.map(\.rate))
        cpuPerOperationAndNode = Spread(strata.map(\.cpu))
        plainRate = Spread(plain.map(\.rate))
        plainCPUPerOperationAndClient = Spread(plain.map(\.cpu))
        ratio = plainRate.median / rate.median
    }
}
