import Foundation
import StoreModels
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// Random edits of a tree in random commits. The scheduler runs the operations in any order and with faults, against a
/// remote that refuses everything that a real one might. The remote must not refuse a request, and in the end both
/// sides must have the same tree.
@Suite struct RandomTreeTests {
    /// A generator whose seed determines all numbers (SplitMix64).
    struct Random: RandomNumberGenerator {
        var state: UInt64

        init(seed: UInt64) { state = seed }

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    /// The parameters of one random history.
    private struct Parameters {
        let capabilities: RemoteCapabilities
        let maxConcurrent: Int
        let hasFaults: Bool
        let commits: Int
        let isEncrypted: Bool
        /// Whether the history uses a name that the remote refuses.
        let hasBadNames: Bool

        init(_ random: inout Random) {
            let hasFolders = Bool.random(using: &random)
            capabilities = RemoteCapabilities(
                checksVersionsOfDeletes: Bool.random(using: &random),
                hasFolders: hasFolders,
                sharesKeysWithFolders: false,
                copies: Bool.random(using: &random),
                moves: hasFolders || Bool.random(using: &random),
                keepsMarks: Bool.random(using: &random),
                isLocal: true
            )
            maxConcurrent = Int.random(in: 1...8, using: &random)
            hasFaults = Bool.random(using: &random)
            commits = Int.random(in: 1...14, using: &random)
            isEncrypted = Int.random(in: 0..<3, using: &random) == 0
            hasBadNames = Int.random(in: 0..<4, using: &random) == 0
        }
    }

    @Test("The remote refuses no request that the order of commits allows, and both trees are the same in the end")
    func anySchedule()
        async throws
    {
        let environment = ProcessInfo.processInfo.environment
        let first = Dice.seed
        let runs = environment["STRATA_CLOUD_RUNS"].flatMap { Int($0) } ?? (environment["CI"] == nil ? 30 : 100)
        // A run spends most of its time waiting, so several runs share the time.
        try await withThrowingTaskGroup(of: (UInt64, [String]).self) { group in
            for seed in first..<first + UInt64(runs) {
                if seed >= first + 3, let (seed, faults) = try await group.next(), !faults.isEmpty {
                    return record(seed, faults)
                }
                group.addTask { do { return (seed, try await self.run(seed)) } catch { return (seed, ["\(error)"]) } }
            }
            for try await (seed, faults) in group where !faults.isEmpty { record(seed, faults) }
        }
    }

    private func record(_ seed: UInt64, _ faults: [String]) {
        Issue.record("STRATA_SEED=\(seed) STRATA_CLOUD_RUNS=1: \(faults.joined(separator: "\n"))")
    }

    /// - Returns: the errors that the run has found.
    private func run(_ seed: UInt64) async throws -> [String] {
        var random = Random(seed: seed)
        let parameters = Parameters(&random)
        let faults = Mutex(Random(seed: seed ^ 0xFA17))
        let hasFaults = parameters.hasFaults
        let remote = StrictRemote(parameters.capabilities) { request, _ in
            if request.key.split(separator: "/").contains("bad") {
                return .before(RemoteError(.invalidKey, "There is no such name."))
            }
            return faults.withLock { random in
                switch Int.random(in: 0..<(hasFaults ? 40 : 400), using: &random) {
                case 0 where hasFaults: .before(RemoteError(.unavailable, "Not now."))
                case 1 where hasFaults: .answerLost
                case 2 where hasFaults: .before(RemoteError(.throttled, "Later.", retryAfter: .milliseconds(1)))
                default: .pause(Int.random(in: 0..<6, using: &random))
                }
            }
        }
        let harness = try await CloudHarness(
            remote,
            options: CloudOptions(
                encryption: parameters.isEncrypted ? ContentEncryption(EncryptionFixture.account) : nil,
                maxConcurrent: parameters.maxConcurrent,
                retry: RetryPolicy(maxAttempts: nil, base: .milliseconds(1), cap: .milliseconds(2))
            ),
            isSuspended: true
        )
        // Encrypted files have metadata as well. At times this machine does not have it, and the upload sends the
        // remote's metadata along.
        let forgetful = Mutex(Random(seed: seed ^ 0xF0F))
        harness.handler.state.withLock { $0.forgetsMetadata = { forgetful.withLock { Bool.random(using: &$0) } } }
        let sections: [ContentSections] = parameters.isEncrypted ? [.data, .metadata, [.metadata, .data]] : [.data]
        let names = parameters.hasBadNames ? Self.names + ["bad"] : Self.names
        var log: [String] = []
        for number in 0..<parameters.commits {
            // At times the account already runs the operations queued so far, some or all of them.
            switch Int.random(in: 0..<4, using: &random) {
            case 0: try await harness.drain()
            case 1: harness.account.uploads.resume()
            case 2: while harness.account.uploads.suspensions == 0 { harness.account.uploads.suspend() }
            default: break
            }
            var commitRandom = Random(seed: seed &* 1000 + UInt64(number))
            let handler = harness.handler
            log += try await harness.commit { cloud in
                var done: [String] = []
                for _ in 0..<Int.random(in: 1...5, using: &commitRandom) {
                    done.append(try Self.edit(cloud, handler, &commitRandom, sections, names))
                }
                return done + ["commit"]
            }
        }
        while harness.account.uploads.suspensions == 0 { harness.account.uploads.suspend() }
        try await harness.drain()
        if parameters.hasBadNames {
            log += try await harness.commit { cloud in try Self.renameBad(cloud) }
            try await harness.drain()
        }
        var wrong: [String] = []
        let (here, there) = (
            try await harness.tree(),
            harness.handler.settled(
                parameters.isEncrypted ? try remote.opened(by: EncryptionFixture.keys) : remote.tree,
                try await harness.numbers()
            )
        )
        // The comparison ignores trunks and markers of folders.
        func files(_ tree: [String: String]) -> [String: String] { tree.filter { !$0.key.hasSuffix("/") } }
        func folders(_ tree: [String: String]) -> Set<String> {
            Set(tree.keys.filter { $0.hasSuffix("/") && $0.dropLast().contains("/") })
        }
        if files(here) != files(there) { wrong.append("files here \(files(here)), there \(files(there))") }
        if folders(here) != folders(there) { wrong.append("folders here \(folders(here)), there \(folders(there))") }
        // With faults, a repeated request may be refused. A node with a bad name is sent later than its commit.
        if !hasFaults, !parameters.hasBadNames, !remote.refusals.isEmpty { wrong.append("refused: \(remote.refusals)") }
        if parameters.isEncrypted {
            for path in remote.tree.keys where !path.hasSuffix("/") {
                let bytes = try EncryptionFixture.open(remote.bytes(path), .metadata, EncryptionFixture.keys)
                let text = String(decoding: bytes, as: UTF8.self)
                if !text.isEmpty, !text.hasSuffix(" metadata") { wrong.append("metadata of \(path): \(text)") }
            }
        }
        let left = try await harness.queued()
        if !left.isEmpty { wrong.append("left: \(left)") }
        let accesses = try await harness.read { try $0.context.count(ResourceAccess.all) }
        if accesses != 0 { wrong.append("\(accesses) accesses are left") }
        let shadows = try await harness.read { cloud in
            try cloud.context.fetch(RemoteNode.all).filter { try $0.node == nil || $0.node?.path != Self.path(of: $0) }
                .map { "\($0)" }
        }
        if !shadows.isEmpty { wrong.append("known of the remote, and not so: \(shadows)") }
        try await harness.stack.close()
        if !wrong.isEmpty {
            wrong.append("\(parameters)")
            wrong += log
            wrong += remote.requests.map { "  \($0)" }
        }
        return wrong
    }

    private static func path(of remote: RemoteNode) throws -> TreePath? {
        let key = try remote.key
        guard let trunk = key.segments.first.flatMap({ Trunk(rawValue: $0) }) else { return nil }
        return TreePath(Array(key.segments.dropFirst()), in: trunk)
    }

    static let names = ["a", "b", "c"]

    /// Makes one random edit, and returns its description.
    static func edit(
        _ cloud: CloudContext,
        _ handler: TestHandler,
        _ random: inout Random,
        _ sections: [ContentSections] = [.data],
        _ names: [String] = names
    )
        throws -> String
    {
        var nodes: [CloudNode] = []
        try cloud.walk(cloud.root()) { node, _ in
            nodes.append(node)
            return .proceed
        }
        // At times a new node is placed below a file, which then becomes a folder with content.
        let mayConvert = Int.random(in: 0..<6, using: &random) == 0
        let folders = [try cloud.root()] + nodes.filter { mayConvert || $0.isFolder }
        let folder = folders.randomElement(using: &random) ?? folders[0]
        let path = folder.path.appending(names.randomElement(using: &random) ?? "a")
        let node = nodes.randomElement(using: &random)
        do {
            switch (Int.random(in: 0..<11, using: &random), node) {
            case (0...2, _), (_, nil):
                let node = try cloud.createNode(at: path)
                handler.set("\(random.next() % 1000)", of: node.id)
                return "create \(path)"
            case (3...4, _):
                try cloud.createFolder(at: path)
                return "folder \(path)"
            case (5...6, let node?):
                let from = node.path
                try cloud.move(node, to: path)
                return "move \(from) to \(path)"
            case (7, let node?):
                let from = node.path
                let copy = try cloud.copy(node, to: path)
                try same(copy, node, cloud, handler)
                return "copy \(from) to \(path)"
            case (8, let node?):
                let from = node.path
                try cloud.delete(node)
                return "delete \(from)"
            case (_, let node?):
                let isContent = !node.isFolder || handler.hasText(node.id) || Int.random(in: 0..<4, using: &random) == 0
                guard isContent else { return "nothing" }
                handler.set("\(random.next() % 1000)", of: node.id)
                try cloud.upload(
                    node,
                    node.isFolder ? .data : sections.randomElement(using: &random) ?? .data,
                    coalescesUploads: Bool.random(using: &random)
                )
                return "upload \(node.path)"
            }
        } catch let error as CloudError {
            return "\(error.code)"
        }
    }

    /// Renames all nodes whose name the remote refuses.
    private static func renameBad(_ cloud: CloudContext) throws -> [String] {
        var bad: [CloudNode] = []
        try cloud.walk(cloud.root()) { node, _ in
            if node.name == "bad" { bad.append(node) }
            return .proceed
        }
        return try bad.map { node in
            let path = node.path
            guard let parent = node.parent else { return "a trunk" }
            try cloud.rename(node, to: cloud.freeName(for: "good", in: parent))
            return "rename \(path) to \(node.path)"
        }
    }

    /// A copy has the content that its original had at the remote. This may be any version, because a later upload may
    /// have arrived before the copy.
    private static func same(_ copy: CloudNode, _ node: CloudNode, _ cloud: CloudContext, _ handler: TestHandler) throws
    {
        if handler.hasText(node.id) { handler.copy(node.id, to: copy.id) }
        if !node.isFolder { return }
        for child in try node.children.fetch() {
            if let twin = try cloud.child(child.name, of: copy) { try same(twin, child, cloud, handler) }
        }
    }
}
