import Foundation
import StoreModels
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// Random edits of a tree whose files and folders have metadata, with faults. In the end, no metadata remains without
/// its node, and a pull finds no changes.
@Suite struct RandomSidecarTests {
    private typealias Random = RandomTreeTests.Random

    @Test("Metadata follows its node")
    func sidecarsFollowNodes() async throws {
        let environment = ProcessInfo.processInfo.environment
        let first = Dice.seed
        let runs = environment["STRATA_CLOUD_RUNS"].flatMap { Int($0) } ?? (environment["CI"] == nil ? 20 : 30)
        for seed in first..<first + UInt64(runs) {
            let faults = try await run(seed)
            if faults.isEmpty { continue }
            Issue.record("STRATA_SEED=\(seed) STRATA_CLOUD_RUNS=1: \(faults.joined(separator: "\n"))")
            return
        }
    }

    private func run(_ seed: UInt64) async throws -> [String] {
        var random = Random(seed: seed)
        let capabilities = RemoteCapabilities(
            copies: Bool.random(using: &random),
            keepsMarks: Bool.random(using: &random),
            isLocal: true
        )
        let (hasFaults, isEncrypted) = (Bool.random(using: &random), Int.random(in: 0..<3, using: &random) == 0)
        let chance = Mutex(Random(seed: seed ^ 0xFA17))
        let remote = StrictRemote(capabilities) { _, _ in
            guard hasFaults else { return nil }
            return chance.withLock { random in
                switch Int.random(in: 0..<8, using: &random) {
                case 0: .answerLost
                case 1: .before(RemoteError(.unavailable, "Not now.", retryAfter: .milliseconds(1)))
                default: nil
                }
            }
        }
        let harness = try await CloudHarness(
            remote,
            options: CloudOptions(
                encryption: isEncrypted ? ContentEncryption(EncryptionFixture.account) : nil,
                retry: RetryPolicy(maxAttempts: nil, base: .milliseconds(1), cap: .milliseconds(2))
            )
        )
        let handler = harness.handler
        var log: [String] = []
        for number in 0..<Int.random(in: 1...12, using: &random) {
            if Bool.random(using: &random) { try await harness.drain() }
            var commitRandom = Random(seed: seed &* 1000 + UInt64(number))
            log += try await harness.commit { cloud in
                var done: [String] = []
                for _ in 0..<Int.random(in: 1...5, using: &commitRandom) {
                    done.append(
                        try RandomTreeTests.edit(
                            cloud,
                            handler,
                            &commitRandom,
                            [.data, .metadata, [.metadata, .data]]
                        )
                    )
                    done.append(try Self.describe(cloud, &commitRandom))
                }
                return done + ["commit"]
            }
        }
        try await harness.drain()
        var wrong: [String] = []
        let tree = remote.tree
        for path in tree.keys {
            guard let mark = path.lastIndex(of: "%") else { continue }
            let node = String(path[..<mark])
            if tree[node] == nil && tree[node + "/"] == nil { wrong.append("\(path) lies beside nothing") }
        }
        wrong += try await harness.queued().map { "left: \($0)" }
        if try await harness.read({ try !$0.conflicts().isEmpty }) {
            wrong.append("a conflict without another machine")
        }
        // The check of a known file fails while its request fails, so the pull is repeated.
        var summary: PullSummary?
        for _ in 0..<1000 where summary == nil { summary = try? await harness.account.pull() }
        if summary != PullSummary() { wrong.append("found: \(handler.pulled())") }
        await harness.account.close()
        try await harness.stack.close()
        return wrong.isEmpty ? [] : wrong + ["sealed \(isEncrypted)"] + log + remote.requests.map { "  \($0)" }
    }

    /// Uploads the metadata of a folder.
    private static func describe(_ cloud: CloudContext, _ random: inout Random) throws -> String {
        var folders: [CloudNode] = []
        try cloud.walk(cloud.root()) { node, _ in
            if node.isFolder { folders.append(node) }
            return .proceed
        }
        guard let folder = folders.randomElement(using: &random) else { return "no folder" }
        try cloud.upload(folder, .metadata)
        return "describe \(folder.path)"
    }
}
