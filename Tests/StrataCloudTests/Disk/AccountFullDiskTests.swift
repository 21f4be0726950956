import Foundation
import Strata
import StrataPipeline
import StoreModels
import TestHomeTraits
import Testing

@testable import StrataCloud
@testable import StrataRemotes

/// A test retries with more free space each time, from none to enough. Until the space is enough, each attempt fails
/// with an error that names the full disk, and loses nothing.
@Suite(
    "Full disks",
    .aboutTheFile("fills the disk of the file"),
    .enabled(if: SmallDisk.isAllowed, "needs the right to mount a file system")
)
struct AccountFullDiskTests {
    /// The number of bytes by which the free space grows.
    private static let step = 8192
    /// The number of files that a pull finds: more than one commit of a pull contains.
    private static let count = 250

    /// Retries with more and more free space until the body succeeds.
    ///
    /// - Returns: the number of failures.
    private func untilItWorks(
        on disk: SmallDisk,
        _ body: () async throws -> Bool
    ) async throws -> Int {
        for failures in 0..<500 {
            try disk.fill(leaving: failures * Self.step)
            let isDone = try await body()
            try disk.free()
            if isDone { return failures }
        }
        Issue.record("It does not come to an end.")
        return 0
    }

    /// The paths of the files in a folder and its subfolders.
    private func files(below folder: URL) throws -> [String] {
        let all = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
        return all.filter { path in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: folder.appending(path: path).path, isDirectory: &isFolder)
                && !isFolder.boolValue
        }
    }

    @Test(
        "A download on a full disk continues after the bytes that have arrived, once there is space",
        arguments: [false, true],
        [false, true]
    )
    func downloadContinues(isEncrypted: Bool, isCached: Bool)
        async throws
    {
        let disk = try SmallDisk(size: "4m")
        let folder = disk.folder.file("cache")
        let content = EncryptionFixture.bytes(300_000, 3)
        let handler = TestHandler()
        let harness = try await CloudHarness(
            handler: handler,
            options: CloudOptions(
                encryption: isEncrypted ? ContentEncryption(EncryptionFixture.account) : nil,
                cacheFolder: folder
            )
        )
        let node = try await harness.commit { cloud in
            let node = try cloud.createNode(at: "/film")
            handler.set([.data: content], of: node.id)
            return node.id
        }
        try await harness.drain()
        let downloads = harness.account.downloads
        let before = harness.remote.state.withLock { $0.given }
        var mostKept = 0
        let failures = try await untilItWorks(on: disk) {
            do {
                let file = try await downloads.fetch(node, options: DownloadOptions(cache: isCached))
                defer { file.release() }
                #expect(try Data(contentsOf: file.file) == content)
                return true
            } catch let error as CloudError {
                #expect(error.code == .cacheUnavailable, "\(error)")
                for kept in (try? files(below: Downloads.partials(in: folder))) ?? [] {
                    #expect(!kept.hasSuffix(".done"))
                    let file = Downloads.partials(in: folder).appending(path: kept)
                    mostKept = max(mostKept, try Data(contentsOf: file).count)
                }
                let temporary = Downloads.files(in: folder).appending(path: "temporary")
                if FileManager.default.fileExists(atPath: temporary.path) {
                    #expect(try files(below: temporary) == [])
                }
                return false
            }
        }
        #expect(failures > 2)
        #expect(mostKept > 100_000)
        // The content arrives once, apart from bytes that arrive again because there was no room for them, and a file
        // that the index had no room for.
        let given = harness.remote.state.withLock { $0.given } - before
        #expect(given < content.count * (failures + 1))
        #expect(try files(below: Downloads.partials(in: folder)) == [])
        #expect(try await downloads.cache().faults() == [])
        #expect(try await downloads.cache().usage().count == (isCached ? 1 : 0))
        await harness.account.close()
        try await harness.stack.close()
    }

    @Test("A pull on a full disk applies some or no commits, and applies the rest once there is space")
    func pullContinues() async throws {
        let disk = try SmallDisk(size: "8m")
        let store = disk.folder.file("store.sqlite")
        let remote = StrictRemote()
        let stack = try await open(store)
        let harness = try await CloudHarness(
            remote,
            stack: stack,
            options: CloudOptions(cacheFolder: disk.folder.file("cache"))
        )
        remote.folder("home")
        remote.folder("home/folder")
        for number in 0..<Self.count { remote.write("home/folder/\(number)", "content of \(number)") }
        var found: Set<Int> = []
        let failures = try await untilItWorks(on: disk) {
            do {
                try await harness.account.pull()
                return true
            } catch let error as StrataError {
                #expect(error.code == .diskFull, "\(error)")
                // A new node and its download mark arrive in the same commit.
                let (nodes, marked) = try await harness.read { cloud in
                    (
                        try cloud.context.count(CloudNode.where { $0.isFolder == false }),
                        try cloud.nodesMarkedForDownload().count
                    )
                }
                #expect(nodes == marked)
                found.insert(nodes)
                return false
            }
        }
        #expect(failures > 2)
        #expect(found.isSubset(of: [0, 199, Self.count]), "\(found)")
        #expect(try await harness.account.pull() == PullSummary())
        await harness.account.close()
        try await stack.close()
        let again = try await CloudHarness(
            remote,
            stack: try await open(store),
            options: CloudOptions(cacheFolder: disk.folder.file("cache"))
        )
        #expect(try await again.account.pull() == PullSummary())
        let marked = try await again.read { try $0.nodesMarkedForDownload().map { "\($0.path)" } }
        #expect(Set(marked) == Set((0..<Self.count).map { "/folder/\($0)" }))
        await again.account.close()
        try await again.stack.close()
    }

    @Test("A mark stays while the disk has no space for the file or for the removal of the mark")
    func marksStay() async throws {
        let disk = try SmallDisk(size: "8m")
        let remote = StrictRemote()
        remote.folder("home")
        let text = String(repeating: "0123456789", count: 5000)
        for number in 0..<4 { remote.write("home/\(number)", text) }
        let stack = try await open(disk.folder.file("store.sqlite"))
        let folder = disk.folder.file("cache")
        let harness = try await CloudHarness(remote, stack: stack, options: CloudOptions(cacheFolder: folder))
        try await harness.account.pull()
        // The account's own downloads would finish before the disk is full.
        let options = CloudOptions(maxConcurrent: 1, download: .all, cacheFolder: folder)
        let account = harness.account
        let downloads = Downloads(
            stack,
            account.info,
            remote,
            account.availability,
            options,
            account.downloads.transfers
        )
        let marks = MarkedDownloads(downloads, harness.handler, options)
        let failures = try await untilItWorks(on: disk) {
            marks.look()
            await marks.waitUntilIdle()
            let marked = try await harness.read { try $0.nodesMarkedForDownload().map(\.id) }
            // A node without a mark has its file in the cache.
            let all = try await harness.read {
                try $0.context.fetch(CloudNode.where { $0.isFolder == false }).map(\.id)
            }
            #expect(all.count == 4)
            let kept = Set((try? await downloads.cache().nodes()) ?? [])
            for id in all where !marked.contains(id) { #expect(kept.contains(id.rawValue)) }
            return marked.isEmpty
        }
        #expect(failures > 2)
        #expect(harness.handler.state.withLock { Set($0.downloaded) } == Set((0..<4).map { "/\($0): \(text)" }))
        #expect(try files(below: Downloads.partials(in: folder)) == [])
        #expect(try await downloads.cache().faults() == [])
        await marks.stop()
        await harness.account.close()
        try await stack.close()
    }

    @Test(
        "An upload to a full remote leaves nothing that others see, and arrives once there is space",
        arguments: [1 << 20, 64 << 10]
    )
    func uploadToFullRemote(
        partSize: Int64
    ) async throws {
        let disk = try SmallDisk(size: "4m")
        let root = disk.folder.file("remote")
        let content = EncryptionFixture.bytes(300_000, 3)
        let handler = TestHandler()
        let stack = try await ContextStack.open(.inMemory, models: CloudAccount.models, stack: .rootOnly)
        let account = try await CloudAccount.open(
            stack,
            id: "alice",
            remote: FolderRemote(root),
            handler: handler,
            options: CloudOptions(
                retry: RetryPolicy(maxAttempts: 1),
                partSize: partSize,
                cacheFolder: disk.folder.file("cache")
            )
        )
        account.uploads.suspend()
        try await account.commit { cloud in
            try handler.set([.data: content], of: cloud.createNode(at: "/film").id)
        }
        let failures = try await untilItWorks(on: disk) {
            account.uploads.resume()
            var failed: [String] = []
            while failed.isEmpty, try await account.read({ try $0.context.count(QueuedOperation.all) }) > 0 {
                try await Task.sleep(for: .milliseconds(1))
                failed = try await account.read { cloud in
                    try cloud.failedOperations().compactMap { $0.failures.list.last?.message }
                }
            }
            account.uploads.suspend()
            guard let message = failed.first else { return true }
            #expect(message.contains("outOfSpace"), "\(message)")
            #expect(!FileManager.default.fileExists(atPath: root.appending(path: "home/film").path))
            try await account.commit { cloud in for failed in try cloud.failedOperations() { failed.retry() } }
            return false
        }
        #expect(failures > 2)
        #expect(try Data(contentsOf: root.appending(path: "home/film")) == content)
        // The failed attempts leave no files.
        let left = try files(below: root).sorted()
        #expect(left == ["\(FolderRemote.workName)/lock", "home/film"])
        await account.close()
        try await stack.close()
    }

    private func open(_ store: URL) async throws -> ContextStack {
        try await ContextStack.open(.sqlite(store), models: [Note.self] + CloudAccount.models, stack: .rootOnly)
    }
}
