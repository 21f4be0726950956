import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// A mark requests a section that can be downloaded. It counts as remaining work only if it will be downloaded, and it
/// goes when the section has arrived.
@Suite struct MarkTests {
    private func stage(
        _ files: [String] = ["a", "b"],
        download: DownloadPolicy,
        fault: @escaping @Sendable (StrictRemote.Request, Int) -> StrictRemote.Fault? = { _, _ in nil }
    ) async throws -> (CloudStage, DownloadTests.Scratch) {
        let scratch = DownloadTests.Scratch()
        let remote = StrictRemote(fault: fault)
        for folder in ["home", "home/f"] { remote.folder(folder) }
        for name in files { remote.write("home/\(name)", "content of \(name)") }
        let options = CloudOptions(download: download, cacheFolder: scratch.folder)
        return (try await CloudStage(remote, options: options), scratch)
    }

    // MARK: Folders

    @Test func `of a folder only what the remote has is marked`() async throws {
        let (stage, scratch) = try await stage(download: .onDemand)
        try await stage.account.pull()
        try await stage.commit { cloud in
            let (folder, new) = (try cloud.node(at: "/f"), try cloud.createFolder(at: "/new"))
            for node in [folder, new] {
                cloud.markNeedsDownload(node)
                #expect(try cloud.markedSections(of: node) == [])
            }
            folder.remote?.metadataETag = "1"
            cloud.markNeedsDownload(folder)
            #expect(try cloud.markedSections(of: folder) == .metadata)
        }
        await stage.account.close()
        _ = scratch
    }

    /// Sets marks on a folder in the way of earlier versions.
    private func markInVain(_ stage: CloudStage) async throws {
        try await stage.commit { cloud in
            let folder = try cloud.node(at: "/f")
            for section in [ContentSections.metadata, .data] {
                cloud.context.insert(DownloadMark(node: folder, section: section.rawValue, eTag: nil))
            }
        }
    }

    @Test func `marks of folders for what the remote does not have do not count, and go when the account is opened`()
        async throws
    {
        let (stage, scratch) = try await stage([], download: .byApplication)
        try await stage.account.pull()
        try await markInVain(stage)
        #expect(try await stage.account.progress().downloads.filesLeft == 0)
        await stage.account.close()
        let again = try await CloudStage(stage.remote, stack: stage.stack)
        #expect(try await again.read { try $0.context.count(DownloadMark.all) } == 0)
        await again.account.close()
        _ = scratch
    }

    @Test func `the look for what is marked takes them back, and asks the remote for nothing`() async throws {
        let (stage, scratch) = try await stage([], download: .all)
        try await stage.account.pull()
        try await markInVain(stage)
        try await stage.account.downloadMarked()
        #expect(try await stage.read { try $0.context.count(DownloadMark.all) } == 0)
        #expect(!stage.remote.requests.contains { $0.verb.hasPrefix("GET") })
        await stage.account.close()
        _ = scratch
    }

    // MARK: Versions

    @Test func `a version that does not match takes back its own marks, and none without a version`() async throws {
        let stage = try await CloudStage()
        try await stage.commit { cloud in
            // The remote does not have a version of the node yet.
            cloud.markNeedsDownload(try cloud.createNode(at: "/n"), .data)
        }
        try await stage.drain()
        try await stage.commit { cloud in
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
        await stage.account.close()
    }

    // MARK: Progress

    @Test func `what the policy does not want is not left to download`() async throws {
        let isOpen = Gate()
        let policy = DownloadPolicy.only { node, _ in node.name == "a" }
        let (stage, scratch) = try await stage(download: policy) { request, _ in
            request.verb.hasPrefix("GET") ? .gate(isOpen) : nil
        }
        try await stage.account.pull()
        #expect(try await stage.read { try $0.nodesMarkedForDownload().count } == 2)
        #expect(try await stage.account.progress().downloads.filesLeft == 1)
        isOpen.open()
        try await stage.account.downloadMarked()
        let progress = try await stage.account.progress()
        #expect(progress.downloads.description == "1 of 1 files, 12 of 12 bytes" && progress.isIdle)
        await stage.account.close()
        _ = scratch
    }

    @Test func `nothing that is marked is left where the application asks by itself`() async throws {
        let (stage, scratch) = try await stage(download: .onDemand)
        try await stage.account.pull()
        #expect(try await stage.account.progress().downloads.filesLeft == 0)
        await stage.account.close()
        _ = scratch
    }

    @Test func `what a policy wants since it has another name counts from then on`() async throws {
        let isOpen = Gate()
        let policy = DownloadPolicy.only { node, _ in node.name == "wanted" }
        let (stage, scratch) = try await stage(["a"], download: policy) { request, _ in
            request.verb.hasPrefix("GET") ? .gate(isOpen) : nil
        }
        try await stage.account.pull()
        var changes = stage.account.progressChanges(every: .zero).makeAsyncIterator()
        #expect(try await changes.next()?.downloads.filesLeft == 0)
        try await stage.commit { try $0.rename($0.node(at: "/a"), to: "wanted") }
        while let progress = try await changes.next(), progress.downloads.filesLeft == 0 {}
        #expect(try await stage.account.progress().downloads.filesLeft == 1)
        isOpen.open()
        await stage.account.close()
        _ = scratch
    }

    // MARK: Waiting

    @Test func `downloadMarked returns when what is wanted is here`() async throws {
        let (stage, scratch) = try await stage(["a", "b", "c"], download: .all)
        try await stage.account.pull()
        try await stage.account.downloadMarked()
        #expect(
            stage.handler.state.withLock { Set($0.downloaded) } == [
                "/a: content of a", "/b: content of b", "/c: content of c",
            ]
        )
        #expect(try await stage.read { try $0.nodesMarkedForDownload().isEmpty })
        await stage.account.close()
        _ = scratch
    }

    @Test func `it names what has not arrived, with the reason, and the rest is here`() async throws {
        let (stage, scratch) = try await stage(["a", "b", "c"], download: .all) { request, _ in
            request.verb.hasPrefix("GET") && request.key == "home/b" ? .before(RemoteError(.forbidden, "No.")) : nil
        }
        try await stage.account.pull()
        let error = try await #require(throws: CloudError.self) { try await stage.account.downloadMarked() }
        let id = try await stage.read { try $0.node(at: "/b").id }
        #expect(error.code == .downloadsFailed && error.nodes == [id.number])
        #expect(error.message.contains("data of /b: "))
        #expect((error.underlying as? RemoteError)?.code == .forbidden)
        #expect(try await stage.read { try $0.nodesMarkedForDownload().map(\.id) } == [id])
        // A node that is deleted meanwhile no longer needs a download.
        try await stage.commit { try $0.delete($0.node(at: "/b")) }
        try await stage.account.downloadMarked()
        await stage.account.close()
        _ = scratch
    }

    @Test func `what the handler throws is handed on`() async throws {
        let (stage, scratch) = try await stage(["a"], download: .all)
        stage.handler.state.withLock { $0.refusal = RemoteError(.forbidden, "the handler's own") }
        try await stage.account.pull()
        let error = try await #require(throws: CloudError.self) { try await stage.account.downloadMarked() }
        #expect((error.underlying as? RemoteError)?.message == "the handler's own")
        await stage.account.close()
        _ = scratch
    }

    @Test func `a task that is cancelled waits no longer, and a closed account is told`() async throws {
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let isOpen = Gate()
        let (stage, scratch) = try await stage(["a"], download: .all) { request, _ in
            guard request.verb.hasPrefix("GET") else { return nil }
            hasBegun.yield()
            return .gate(isOpen)
        }
        try await stage.account.pull()
        for await _ in begun { break }
        let account = stage.account
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

    @Test func `without a policy that wants any, it returns at once`() async throws {
        for policy in [DownloadPolicy.onDemand, .byApplication] {
            let (stage, scratch) = try await stage(["a"], download: policy)
            try await stage.account.pull()
            try await stage.account.downloadMarked()
            #expect(try await stage.read { try $0.nodesMarkedForDownload().count } == 1)
            await stage.account.close()
            _ = scratch
        }
    }
}
