import Foundation
import Strata
import StrataPipeline
import StoreModels
import StrataTesting
import Testing

@testable import StrataCloud

/// A follower receives the same remaining work as a caller who reads the progress anew, after any changes.
///
/// One hundredth of the histories of `STRATA_CLOUD_RUNS` is played, or 3 by default, starting with the seed `STRATA_SEED`.
@Suite struct RandomProgressTests {
    private static let seeds: [UInt64] = {
        let first = Dice.seed
        let runs = ProcessInfo.processInfo.environment["STRATA_CLOUD_RUNS"].flatMap { Int($0) } ?? 300
        return (0..<UInt64(max(1, runs / 100))).map { first + $0 }
    }()

    @Test("All readers see the same remaining work", arguments: seeds)
    func sameForAllReaders(seed: UInt64) async throws {
        var dice = Dice(seed: seed)
        let harness = try await CloudHarness(options: CloudOptions(download: .byApplication, clock: VirtualClock()))
        let other = try await CloudHarness(StrictRemote(name: "other"), stack: harness.stack, id: "bob")
        let folder = try await harness.commit { try $0.createFolder(at: "/f").id }
        let leaf = try await harness.commit { try $0.createNode(at: "/f/leaf", size: 3).id }
        let account = harness.account
        let source = ProgressSource(
            stack: harness.stack,
            info: account.info,
            tracker: account.downloads.transfers,
            policy: .byApplication
        )
        let scopes = [ProgressScope.account, .below(folder.rawValue), .node(leaf.rawValue)]
        let watches = scopes.map { source.tracker.rings($0) }
        var followers = zip(scopes, watches).map { scope, watch in
            ProgressReading(source, scope, watcher: watch.watcher) {}
        }
        for step in 0..<60 {
            for _ in 0..<Int.random(in: 1...4, using: &dice) {
                try await change(.random(in: 0..<9, using: &dice), harness, keeping: leaf, dice.next())
            }
            if Bool.random(using: &dice) { try await other.commit { _ = try $0.createNode(at: TreePath(["\(step)"])) } }
            let whole = [
                try await account.progress(), try await account.progress(below: folder),
                try await account.progress(of: leaf),
            ]
            for index in followers.indices {
                let left = Left(try await followers[index].read())
                #expect(left == Left(whole[index]), "STRATA_SEED=\(seed), step \(step), \(scopes[index])")
            }
        }
        await account.close()
        await other.account.close()
        withExtendedLifetime(watches) {}
    }

    /// The remaining work. It counts at the node's present place, and finished work counts at its place at that time.
    private struct Left: Equatable {
        let operations: Int
        let failed: Int
        let uploads: Int
        let uploadBytes: Int64?
        let downloads: Int
        let downloadBytes: Int64?

        init(_ progress: CloudProgress) {
            (operations, failed) = (progress.operationsLeft, progress.operationsFailed)
            (uploads, downloads) = (progress.uploads.filesLeft, progress.downloads.filesLeft)
            uploadBytes = progress.uploads.bytesTotal.map { $0 - progress.uploads.bytesDone }
            downloadBytes = progress.downloads.bytesTotal.map { $0 - progress.downloads.bytesDone }
        }
    }

    /// Lets the ready operations run. Failed operations stay: they wait for a time that does not come.
    private func work(_ harness: CloudHarness) async throws {
        harness.account.uploads.resume()
        repeat { await harness.account.uploads.waitForPasses() } while try await harness.account.uploads.isWorking()
        harness.account.uploads.suspend()
        await harness.account.uploads.waitForPasses()
    }

    private func change(_ kind: Int, _ harness: CloudHarness, keeping leaf: ObjectID<CloudNode>, _ seed: UInt64)
        async throws
    {
        if kind == 8 { return try await work(harness) }
        try await harness.commit { cloud in
            var dice = Dice(seed: seed)
            var nodes: [CloudNode] = []
            try cloud.walk(cloud.root()) { node, _ in
                nodes.append(node)
                return .proceed
            }
            let folders = nodes.filter(\.isFolder) + [try cloud.root()]
            guard let folder = folders.randomElement(using: &dice) else { return }
            let file = nodes.filter { !$0.isFolder }.randomElement(using: &dice)
            let size = Bool.random(using: &dice) ? Int64.random(in: 0...9, using: &dice) : nil
            switch kind {
            case 0, 1: try cloud.createNode(at: folder.path.appending("\(seed)"), size: size)
            case 2: try cloud.createFolder(at: folder.path.appending("\(seed)"))
            case 3: if let file { try cloud.upload(file, size: size) }
            case 4:
                if let file {
                    cloud.markNeedsDownload(file, [[.data], [.metadata, .header], .all].randomElement(using: &dice)!)
                }
            case 5: if let file { try cloud.unmarkNeedsDownload(file, Bool.random(using: &dice) ? .data : .all) }
            case 6:
                let above = [folder] + folder.ancestors
                let movable = nodes.filter { node in !above.contains { $0 === node } }
                if let node = movable.randomElement(using: &dice) { try cloud.move(node, into: folder, as: "\(seed)") }
            default:
                let operations = try cloud.context.fetch(QueuedOperation.all)
                if Bool.random(using: &dice) {
                    operations.randomElement(using: &dice)?.skip()
                } else if let file, file.id != leaf {
                    try cloud.delete(file)
                }
            }
        }
    }
}
