import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// A mark requests a section that can be downloaded. It counts as remaining work only if it will be downloaded, and it
/// goes when the section has arrived.
@Suite struct DownloadMarkTests {
    private func harness(
        _ files: [String] = ["a", "b"],
        download: DownloadPolicy,
        fault: @escaping @Sendable (StrictRemote.Request, Int) -> StrictRemote.Fault? = { _, _ in nil }
    ) async throws -> (CloudHarness, DownloadTests.Scratch) {
        let scratch = DownloadTests.Scratch()
        let remote = StrictRemote(fault: fault)
        for folder in ["home", "home/f"] { remote.folder(folder) }
        for name in files { remote.write("home/\(name)", "content of \(name)") }
        let options = CloudOptions(download: download, cacheFolder: scratch.folder)
        return (try await CloudHarness(remote, options: options), scratch)
    }

    // MARK: Folders

    @Test("Only sections that the remote has are marked on a folder")
    func marksOfFolder() async throws {
        let (harness, scratch) = try await harness(download: .onDemand)
        try await harness.account.pull()
        try await harness.commit { cloud in
            let (folder, new) = (try cloud.node(at: "/f"), try cloud.createFolder(at: "/new"))
            for node in [folder, new] {
                cloud.markNeedsDownload(node)
                #expect(try cloud.markedSections(of: node) == [])
            }
            folder.remote?.metadataETag = "1"
            cloud.markNeedsDownload(folder)
            #expect(try cloud.markedSections(of: folder) == .metadata)
        }
        await harness.account.close()
        _ = scratch
    }

    /// Sets marks on a folder in the way of earlier versions.
    private func markInVain(_ harness: CloudHarness) async throws {
        try await harness.commit { cloud in
            let folder = try cloud.node(at: "/f")
            for section in [ContentSections.metadata, .data] {
                cloud.context.insert(DownloadMark(node: folder, section: section.rawValue, eTag: nil))
            }
        }
    }

    @Test("Marks of a folder for sections that the remote does not have are ignored, and removed at opening")
    func impossibleMarks()
        async throws
    {
        let (harness, scratch) = try await harness([], download: .byApplication)
        try await harness.account.pull()
        try await markInVain(harness)
        #expect(try await harness.account.progress().downloads.filesLeft == 0)
        await harness.account.close()
        let again = try await CloudHarness(harness.remote, stack: harness.stack)
        #expect(try await again.read { try $0.context.count(DownloadMark.all) } == 0)
        await again.account.close()
        _ = scratch
    }

    @Test("The search for marked nodes removes such marks without a request")
    func cleanupWithoutRequests() async throws {
        let (harness, scratch) = try await harness([], download: .all)
        try await harness.account.pull()
        try await markInVain(harness)
        try await harness.account.downloadMarked()
        #expect(try await harness.read { try $0.context.count(DownloadMark.all) } == 0)
        #expect(!harness.remote.requests.contains { $0.verb.hasPrefix("GET") })
        await harness.account.close()
        _ = scratch
    }

    // MARK: Versions

    @Test("A version that does not match removes its own marks; without a version no mark is removed")
    func mismatchedVersion() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { cloud in
            // The remote does not have a version of the node yet.
            cloud.markNeedsDownload(try cloud.createNode(at: "/n"), .data)
        }
        try await harness.drain()
        try await harness.commit { cloud in
            let node = try cloud.node(at: "/n")
            try cloud.unmarkNeedsDownload(node, .data, ifETagMatches: ETag("another one"))
            #expect(try cloud.isMarkedForDownload(node, .data))
            cloud.context.insert(DownloadMark(node: node, section: ContentSections.data.rawValue, eTag: "old"))
            try cloud.unmarkNeedsDownload(node, .data, ifETagMatches: ETag("old"))
            let id = node.id
            #expect(try cloud.context.fetch(DownloadMark.where { $0.node == id }).map(\.eTag) == [nil])
            try cloud.unmarkNeedsDownload(node, .data, ifETagMatches: node.eTag)
            #expect(try !cloud.isMarkedForDownload(node, .data))
        }
        await harness.account.close()
    }

    // MARK: Progress

    @Test("Content that the policy does not want is not left to download")
    func unwantedByPolicy() async throws {
        let isOpen = Gate()
        let policy = DownloadPolicy.only { node, _ in node.name == "a" }
        let (harness, scratch) = try await harness(download: policy) { request, _ in
            request.verb.hasPrefix("GET") ? .gate(isOpen) : nil
        }
        try await harness.account.pull()
        #expect(try await harness.read { try $0.nodesMarkedForDownload().count } == 2)
        #expect(try await harness.account.progress().downloads.filesLeft == 1)
        isOpen.open()
        try await harness.account.downloadMarked()
        let progress = try await harness.account.progress()
        #expect(progress.downloads.description == "1 of 1 files, 12 of 12 bytes" && progress.isIdle)
        await harness.account.close()
        _ = scratch
    }

    @Test("With the policy onDemand, no marked content counts as remaining")
    func onDemandPolicy() async throws {
        let (harness, scratch) = try await harness(download: .onDemand)
        try await harness.account.pull()
        #expect(try await harness.account.progress().downloads.filesLeft == 0)
        await harness.account.close()
        _ = scratch
    }

    @Test("A policy that wants a node because of its new name applies from then on")
    func renamedNode() async throws {
        let isOpen = Gate()
        let policy = DownloadPolicy.only { node, _ in node.name == "wanted" }
        let (harness, scratch) = try await harness(["a"], download: policy) { request, _ in
            request.verb.hasPrefix("GET") ? .gate(isOpen) : nil
        }
        try await harness.account.pull()
        var changes = harness.account.progressChanges(every: .zero).makeAsyncIterator()
        #expect(try await changes.next()?.downloads.filesLeft == 0)
        try await harness.commit { try $0.rename($0.node(at: "/a"), to: "wanted") }
        while let progress = try await changes.next(), progress.downloads.filesLeft == 0 {}
        #expect(try await harness.account.progress().downloads.filesLeft == 1)
        isOpen.open()
        await harness.account.close()
        _ = scratch
    }

    // MARK: Waiting

    @Test("downloadMarked() returns when all wanted content has arrived")
    func waitForMarkedContent() async throws {
        let (harness, scratch) = try await harness(["a", "b", "c"], download: .all)
        try await harness.account.pull()
        try await harness.account.downloadMarked()
        #expect(
            harness.handler.state.withLock { Set($0.downloaded) } == [
                "/a: content of a", "/b: content of b", "/c: content of c",
            ]
        )
        #expect(try await harness.read { try $0.nodesMarkedForDownload().isEmpty })
        await harness.account.close()
        _ = scratch
    }

    @Test("downloadMarked() names content that has not arrived, with the reason; the rest has arrived")
    func partialResult() async throws {
        let (harness, scratch) = try await harness(["a", "b", "c"], download: .all) { request, _ in
            request.verb.hasPrefix("GET") && request.key == "home/b" ? .before(RemoteError(.forbidden, "No.")) : nil
        }
        try await harness.account.pull()
        let error = try await #require(throws: CloudError.self) { try await harness.account.downloadMarked() }
        let id = try await harness.read { try $0.node(at: "/b").id }
        #expect(error.code == .downloadsFailed && error.nodes == [id.rawValue])
        #expect(error.message.contains("data of /b: "))
        #expect((error.underlying as? RemoteError)?.code == .forbidden)
        #expect(try await harness.read { try $0.nodesMarkedForDownload().map(\.id) } == [id])
        // A node that is deleted meanwhile no longer needs a download.
        try await harness.commit { try $0.delete($0.node(at: "/b")) }
        try await harness.account.downloadMarked()
        await harness.account.close()
        _ = scratch
    }

    @Test("An error of the handler is rethrown")
    func handlerError() async throws {
        let (harness, scratch) = try await harness(["a"], download: .all)
        harness.handler.state.withLock { $0.refusal = RemoteError(.forbidden, "the handler's own") }
        try await harness.account.pull()
        let error = try await #require(throws: CloudError.self) { try await harness.account.downloadMarked() }
        #expect((error.underlying as? RemoteError)?.message == "the handler's own")
        await harness.account.close()
        _ = scratch
    }

    @Test("A cancelled task stops waiting, and a closed account ends the wait with an error")
    func cancelledWait() async throws {
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let isOpen = Gate()
        let (harness, scratch) = try await harness(["a"], download: .all) { request, _ in
            guard request.verb.hasPrefix("GET") else { return nil }
            hasBegun.yield()
            return .gate(isOpen)
        }
        try await harness.account.pull()
        for await _ in begun { break }
        let account = harness.account
        let cancelled = Task { try await account.downloadMarked() }
        let closed = Task { try await account.downloadMarked() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        await account.close()
        let error = try await #require(throws: CloudError.self) { try await closed.value }
        #expect(error.code == .closed)
        isOpen.open()
        _ = scratch
    }

    @Test("Without a policy that wants content, it returns at once")
    func withoutPolicy() async throws {
        for policy in [DownloadPolicy.onDemand, .byApplication] {
            let (harness, scratch) = try await harness(["a"], download: policy)
            try await harness.account.pull()
            try await harness.account.downloadMarked()
            #expect(try await harness.read { try $0.nodesMarkedForDownload().count } == 1)
            await harness.account.close()
            _ = scratch
        }
    }
}
