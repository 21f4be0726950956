import Foundation
import StoreModels
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// Two machines with one remote edit, send and pull in a random order. In the end both have the remote's tree.
///
/// `STRATA_CLOUD_RUNS` sets the number of histories, starting with the seed `STRATA_SEED`.
@Suite struct TwoMachinesTests {
    @Test("Both machines end with the same tree")
    func sameTree() async throws {
        let environment = ProcessInfo.processInfo.environment
        let first = Dice.seed
        let runs = environment["STRATA_CLOUD_RUNS"].flatMap { Int($0) } ?? (environment["CI"] == nil ? 25 : 50)
        var failures = 0
        for seed in first..<first + UInt64(runs) {
            let wrong: [String]
            do { wrong = try await run(seed) } catch { wrong = ["\(error)"] }
            guard wrong.isEmpty else {
                Issue.record("STRATA_SEED=\(seed) STRATA_CLOUD_RUNS=1: \(wrong.joined(separator: "\n"))")
                failures += 1
                if failures == 5 { return }
                continue
            }
        }
    }

    private func run(_ seed: UInt64) async throws -> [String] {
        var random = RandomTreeTests.Random(seed: seed)
        // Without folders, a file and the contents of a folder with the same name can exist side by side. No tree in
        // this test has that.
        let remote = StrictRemote(
            RemoteCapabilities(
                hasFolders: true,
                copies: Bool.random(using: &random),
                keepsMarks: Bool.random(using: &random),
                isLocal: true
            )
        )
        remote.folder("home")
        var machines: [CloudHarness] = []
        for _ in 0..<2 {
            let resolution = [ConflictResolution.mine, .theirs, .both][Int.random(in: 0..<3, using: &random)]
            let machine = try await CloudHarness(
                remote,
                handler: TestHandler(resolution: resolution),
                options: CloudOptions(
                    encryption: seed % 3 == 0 ? ContentEncryption(EncryptionFixture.account) : nil,
                    retry: RetryPolicy(maxAttempts: 6, base: .milliseconds(1), cap: .milliseconds(2))
                )
            )
            // The history decides at random when the machines pull.
            machine.account.suspendPulls()
            machines.append(machine)
        }
        var log: [String] = []
        for number in 0..<Int.random(in: 4...16, using: &random) {
            let index = Int.random(in: 0..<2, using: &random)
            let machine = machines[index]
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                guard try await machine.drain() else { return ["It does not come to an end."] + log }
                log.append("\(index) sends")
            case 1:
                log.append("\(index) pulls \(try await machine.account.pull())")
            default:
                var commitRandom = RandomTreeTests.Random(seed: seed &* 1000 + UInt64(number))
                let handler = machine.handler
                let done = try await machine.commit { cloud in
                    try (0..<Int.random(in: 1...3, using: &commitRandom)).map { _ in
                        try RandomTreeTests.edit(cloud, handler, &commitRandom)
                    }
                }
                log.append("\(index): \(done.joined(separator: ", "))")
            }
        }
        var quietRounds = 0
        for round in 0..<12 where quietRounds < 2 {
            var isQuiet = true
            for (index, machine) in machines.enumerated() {
                guard try await machine.drain() else { return ["It does not come to an end."] + log }
                let summary = try await machine.account.pull()
                log.append("\(round) \(index): \(summary)")
                if summary != PullSummary() { isQuiet = false }
                try await machine.drain()
            }
            // If one machine has sent a change after its pull, the other machine sees the change in the next round.
            quietRounds = isQuiet ? quietRounds + 1 : 0
        }
        var wrong: [String] = []
        var there = Set(remote.tree.keys.filter { $0 != "home/" && !$0.contains("%") })
        // If only the content of a folder remains, this machine has a folder.
        for key in remote.tree.keys where key.hasSuffix("%payload") { there.insert(key.dropLast(8) + "/") }
        for (index, machine) in machines.enumerated() {
            // The pulls report which machine has written the content of a folder last, and these pulls report nothing.
            let here = Set(try await machine.tree().keys.filter { !$0.contains("%") })
            if here != there {
                wrong.append("\(index) has \(here.subtracting(there)) more, \(there.subtracting(here)) less")
            }
            let left = try await machine.queued()
            if !left.isEmpty { wrong.append("\(index) left: \(left)") }
            try await machine.stack.close()
        }
        return wrong.isEmpty ? [] : wrong + log + remote.requests.map { "  \($0)" }
    }
}
