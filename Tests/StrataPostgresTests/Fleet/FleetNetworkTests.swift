import Foundation
import PostgresCluster
import StoreModels
import Testing

/// Three processes reach the server through proxies that delay, cut and swallow their connections.
@Suite("A fleet with a bad network", .timeLimit(.minutes(5))) struct FleetNetworkTests {
    private static let minFaults = 30
    private static let maxFaults = 400
    private static let minUnknown = 3

    @Test(
        "Lost answers, cut requests, delays and silence lose nothing, and commits of unknown outcome are whole or absent"
    )
    func faults() async throws {
        let seed = Dice.seed
        var dice = Dice(seed: seed)
        let cluster = try PostgresCluster.shared()
        let proxies = try (0..<3).map { _ in try CuttingProxy(to: cluster.port) }
        defer { for proxy in proxies { proxy.end() } }
        let nodes = proxies.map { FleetProcesses.Node(connection: cluster.address(port: $0.port)) }
        let fleet = try FleetProcesses(nodes, seed: seed) { $0.timeout = 2 }
        try await fleet.found()
        let lives = try fleet.indices.map { try fleet.start($0) }
        try await fleet.waitForCommits(3, of: lives)
        for index in 0..<Self.maxFaults where fleet.ledger.faults.isEmpty {
            if index >= Self.minFaults, fleet.ledger.unknown.count >= Self.minUnknown { break }
            let proxy = dice.pick(proxies)!
            // Calls give up after two seconds.
            let isSilent = index % 8 == 4
            proxy.set(isSilent ? .silent : Self.fault(&dice))
            try await Task.sleep(for: .milliseconds(isSilent ? 3000 : dice.number(20..<200)))
            proxy.set(.none)
            try await Task.sleep(for: .milliseconds(dice.number(10..<100)))
        }
        try await fleet.waitForCommits(3, of: lives)
        try await fleet.stop(lives)
        #expect(fleet.ledger.unknown.count >= Self.minUnknown, "no outcome was unknown, STRATA_SEED=\(seed)")
        #expect(fleet.ledger.behind == [], "STRATA_SEED=\(seed)")
        try await fleet.check(cluster.address)
    }

    /// A fault that ends connections or delays them.
    static func fault(_ dice: inout Dice) -> CuttingProxy.Fault {
        switch dice.number(0..<10) {
        case 0..<5: .cutsAnswer
        case 5..<8: .cutsRequest(afterBytes: dice.number(0..<4000))
        default: .delays(Double(dice.number(1..<60)) / 1000)
        }
    }
}
