import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// Each content is downloaded once, whole, and in the version that the download reports.
@Suite struct DownloadTests {
    /// A harness with its own cache, whose remote has a file `/n`.
    private func harness(
        _ text: String = "0123456789",
        retry: RetryPolicy = .standard,
        reachability: (any ConstraintSource)? = nil,
        download: DownloadPolicy = .onDemand,
        fault: @escaping @Sendable (StrictRemote.Request, Int) -> StrictRemote.Fault? = { _, _ in nil }
    ) async throws -> (CloudHarness, ObjectID<CloudNode>, Scratch) {
        let scratch = Scratch()
        let remote = StrictRemote(fault: fault)
        remote.folder("home")
        remote.write("home/n", text)
        let harness = try await CloudHarness(
            remote,
            options: CloudOptions(
                retry: retry,
                reachability: reachability,
                download: download,
                cacheFolder: scratch.folder
            )
        )
        try await harness.account.pull()
        let id = try await harness.read { try $0.node(at: "/n").id }
        return (harness, id, scratch)
    }

    /// The same harness, but downloads wait at a gate, and the stream reports their arrival.
    private func harness(_ gate: Gate) async throws -> (CloudHarness, ObjectID<CloudNode>, Scratch, AsyncStream<Void>) {
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let (harness, node, scratch) = try await harness { request, _ in
            guard request.verb == "GET" else { return nil }
            hasBegun.yield()
            return .gate(gate)
        }
        return (harness, node, scratch, begun)
    }

    /// A folder that is deleted when this object is released.
    final class Scratch: Sendable {
        let folder = FileManager.default.temporaryDirectory.appending(path: "strata-\(UUID().uuidString)")
        deinit { try? FileManager.default.removeItem(at: folder) }

        var partial: [String] {
            (try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "partial").path)) ?? []
        }
    }

    private func gets(_ harness: CloudHarness) -> [String] {
        harness.remote.requests.map(\.verb).filter { $0.hasPrefix("GET") }
    }

    private func text(_ file: DownloadedFile) throws -> String { try String(contentsOf: file.file, encoding: .utf8) }

    @Test("A temporary file exists until it is released")
    func temporaryFile() async throws {
        let (harness, node, scratch) = try await harness()
        let file = try await harness.account.downloads.fetch(node)
        #expect(try text(file) == "0123456789")
        #expect(file.isTemporary && file.size == 10)
        #expect(try await harness.read { try $0.node(at: "/n").eTag } == file.eTag)
        file.release()
        #expect(!FileManager.default.fileExists(atPath: file.file.path))
        #expect(scratch.partial == [])
        await harness.account.close()
    }

    @Test("A cached version is not downloaded again, and a new version is")
    func cachedVersion() async throws {
        let (harness, node, scratch) = try await harness()
        let options = DownloadOptions(cache: true)
        for _ in 0..<3 { try await harness.account.downloads.fetch(node, options: options).release() }
        #expect(gets(harness).count == 1)
        harness.remote.write("home/n", "later")
        try await harness.account.pull()
        let file = try await harness.account.downloads.fetch(node, options: options)
        #expect(try text(file) == "later")
        file.release()
        #expect(gets(harness).count == 2)
        await harness.account.close()
        _ = scratch
    }

    @Test("Simultaneous requests share one transfer, and each caller has the file until it is released")
    func sharedTransfer() async throws {
        let gate = Gate()
        let (harness, node, scratch) = try await harness { request, _ in request.verb == "GET" ? .gate(gate) : nil }
        let downloads = harness.account.downloads
        // All callers have asked before the gate opens, or ask while the transfer runs.
        async let opening: Void = {
            try? await Task.sleep(for: .milliseconds(100))
            gate.open()
        }()
        let files = try await withThrowingTaskGroup(of: DownloadedFile.self) { group in
            for index in 0..<12 {
                group.addTask { try await downloads.fetch(node, options: DownloadOptions(cache: index % 2 == 0)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        await opening
        #expect(gets(harness).count == 1)
        for (index, file) in files.enumerated() {
            #expect(try text(file) == "0123456789", "\(index)")
            file.release()
        }
        await harness.account.close()
        #expect(scratch.partial == [])
    }

    @Test("A file that the cache refuses leaves nothing")
    func refusedByCache() async throws {
        let (harness, node, scratch) = try await harness()
        let cache = try await harness.account.downloads.cache()
        try await cache.transaction { index in
            try index.database.execute(
                sql: "CREATE TRIGGER refusal BEFORE INSERT ON entry BEGIN SELECT raise(ABORT, 'no room'); END"
            )
        }
        for _ in 0..<3 {
            let error = await #expect(throws: CloudError.self) {
                try await harness.account.downloads.fetch(node, options: DownloadOptions(cache: true))
            }
            #expect(error?.code == .cacheUnavailable)
        }
        let temporary = cache.folder.temporary(of: cache.owner)
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path) == [])
        #expect(scratch.partial == [])
        await harness.account.close()
    }

    @Test("An interrupted transfer continues where it stopped")
    func resumedTransfer() async throws {
        let cuts = Mutex(2)
        let (harness, node, scratch) = try await harness { request, _ in
            request.verb == "BODY" && cuts.takeOne() ? .cut(4) : nil
        }
        let file = try await harness.account.downloads.fetch(node)
        #expect(try text(file) == "0123456789")
        #expect(gets(harness) == ["GET", "GET from 4", "GET from 8"])
        file.release()
        await harness.account.close()
        _ = scratch
    }

    @Test("Partial downloads survive the account, and can survive the process")
    func survivesAccount() async throws {
        let isCut = Mutex(true)
        let (harness, node, scratch) = try await harness { request, _ in
            isCut.withLock { $0 } && request.verb == "BODY"
                ? .cut(0) : isCut.withLock { $0 } && request.verb == "GET" ? .pause(1) : nil
        }
        await #expect(throws: RemoteError.self) { _ = try await harness.account.downloads.fetch(node) }
        isCut.withLock { $0 = false }
        await harness.account.close()
        let again = try await CloudHarness(
            harness.remote,
            stack: harness.stack,
            options: CloudOptions(cacheFolder: scratch.folder)
        )
        let file = try await again.account.downloads.fetch(node)
        #expect(try text(file) == "0123456789")
        file.release()
        await again.account.close()
    }

    @Test("If a new version arrives during a download, this version is delivered whole")
    func versionDuringDownload() async throws {
        let isFirst = Mutex(true)
        let (harness, node, scratch) = try await harness { request, _ in
            guard request.verb == "BODY",
                isFirst.withLock({ first in
                    defer { first = false }; return first
                })
            else { return nil }
            return .cut(4)
        }
        // The listing shows the first version. The body breaks off, and then the remote has another version.
        harness.remote.write("home/n", "another version")
        let file = try await harness.account.downloads.fetch(node)
        #expect(try text(file) == "another version")
        #expect(file.eTag != (try await harness.read { try $0.node(at: "/n").eTag }))
        file.release()
        await harness.account.close()
        #expect(scratch.partial == [])
    }

    @Test("Cancelling the last ticket ends the transfer")
    func cancelledTicket() async throws {
        let gate = Gate()
        let (harness, node, scratch, begun) = try await harness(gate)
        let downloads = harness.account.downloads
        let (first, second) = (try downloads.begin(node), try downloads.begin(node))
        for await _ in begun { break }
        first.cancel()
        await #expect(throws: CancellationError.self) { _ = try await first.file }
        gate.open()
        let file = try await second.file
        #expect(try text(file) == "0123456789")
        file.release()
        await harness.account.close()
        await #expect(throws: CloudError.self) { _ = try await downloads.fetch(node) }
        _ = scratch
    }

    @Test("A request during the end of an unwanted transfer starts another transfer")
    func requestAtTheEnd() async throws {
        let gate = Gate(isCancellable: false)
        let (harness, node, scratch, begun) = try await harness(gate)
        let downloads = harness.account.downloads
        let first = try downloads.begin(node)
        for await _ in begun { break }
        first.cancel()
        await #expect(throws: CancellationError.self) { _ = try await first.file }
        async let second = downloads.fetch(node)
        try await Task.sleep(for: .milliseconds(20))
        gate.open()
        let file = try await second
        #expect(try text(file) == "0123456789")
        file.release()
        #expect(scratch.partial == [])
        await harness.account.close()
    }

    @Test("A long pause that a server requests is respected, and callers get it as an error")
    func longRetryAfter() async throws {
        let (harness, node, scratch) = try await harness { request, _ in
            request.verb == "GET"
                ? .before(RemoteError(.throttled, "Too many.", retryAfter: .seconds(86_400))) : nil
        }
        let error = await #expect(throws: RemoteError.self) { try await harness.account.downloads.fetch(node) }
        #expect(error?.code == .throttled && error?.retryAfter == .seconds(86_400))
        #expect(gets(harness).count == 1)
        await harness.account.close()
        _ = scratch
    }

    @Test("A file that others have made larger is downloaded whole, even after an interruption", arguments: [4, 14])
    func grewDuringDownload(cut: Int) async throws {
        let cuts = Mutex(1)
        let (harness, node, scratch) = try await harness { request, _ in
            request.verb == "BODY" && cuts.takeOne() ? .cut(cut) : nil
        }
        harness.remote.write("home/n", "01234567890123456789")
        try await harness.commit { _ = try $0.upload($0.node(at: "/n")) }
        try await harness.drain()
        try await harness.commit { cloud in try cloud.resolve(#require(cloud.conflicts().first), .theirs) }
        try await harness.drain()
        #expect(try await harness.read { try $0.node(at: "/n").remote?.size } == 20)
        let file = try await harness.account.downloads.fetch(node)
        #expect(try text(file) == "01234567890123456789")
        #expect(gets(harness) == ["GET", "GET from \(cut)"])
        file.release()
        await harness.account.close()
        _ = scratch
    }

    @Test("A wrong known size is corrected by the remote's answer")
    func wrongSize() async throws {
        let cuts = Mutex(1)
        let (harness, node, scratch) = try await harness("01234567890123456789") { request, _ in
            request.verb == "BODY" && cuts.takeOne() ? .cut(4) : nil
        }
        try await harness.commit { try $0.node(at: "/n").remote?.size = 10 }
        let file = try await harness.account.downloads.fetch(node)
        #expect(try text(file) == "01234567890123456789")
        file.release()
        await harness.account.close()
        _ = scratch
    }

    @Test("Content of a remote without versions is not taken from the cache")
    func remoteWithoutVersions() async throws {
        let (harness, node, scratch) = try await harness()
        harness.remote.state.withLock { $0.tellsVersions = false }
        harness.remote.write("home/n", "first")
        try await harness.account.pull()
        let options = DownloadOptions(cache: true)
        try await harness.account.downloads.fetch(node, options: options).release()
        harness.remote.write("home/n", "other")
        let file = try await harness.account.downloads.fetch(node, options: options)
        #expect(try text(file) == "other")
        file.release()
        await harness.account.close()
        _ = scratch
    }

    @Test("An abandoned partial download makes room for later downloads")
    func abandonedDownloads() throws {
        let scratch = Scratch()
        func partial(_ name: String, age: TimeInterval = 0, limit: Int64 = 25) throws {
            let file = try PartialFile(scratch.folder.appending(path: "partial"), "alice", name, "v", limit: limit)
            try file.append(Data(repeating: 1, count: 10))
            guard let new = Set(scratch.partial).subtracting(names.values).first else { return }
            names[name] = new
            let path = scratch.folder.appending(path: "partial").appending(path: new).path
            try FileManager.default.setAttributes([.modificationDate: Date() - age], ofItemAtPath: path)
        }
        var names: [String: String] = [:]
        for (index, name) in ["a", "b", "c"].enumerated() { try partial(name, age: 1000 - Double(index)) }
        // When the third file was begun, the two existing ones were within the limit.
        #expect(scratch.partial.count == 3)
        try partial("d")
        #expect(Set(scratch.partial) == Set(["b", "c", "d"].compactMap { names[$0] }))
        // A partial file that no download has continued for weeks is deleted as well.
        try partial("e", age: 40 * 86_400, limit: .max)
        try partial("f", limit: .max)
        #expect(Set(scratch.partial) == Set(["b", "c", "d", "f"].compactMap { names[$0] }))
    }

    @Test("A partial file continues after the bytes that are kept")
    func cutFiles() throws {
        let scratch = Scratch()
        for (kept, length) in [(0, 0), (0, 3), (3, 3), (2, 3)] as [(Int64, Int)] {
            let file = try PartialFile(scratch.folder.appending(path: "partial"), "alice", "\(kept) of \(length)", "v")
            try file.append(Data("abc".utf8.prefix(length)))
            try file.cut(at: kept)
            try file.append(Data("xy".utf8))
            let text = try String(contentsOf: file.finish(), encoding: .utf8)
            #expect(text == "abc".prefix(Int(kept)) + "xy")
        }
    }

    @Test("A download that cannot succeed reports an error")
    func failedDownload() async throws {
        let (harness, node, scratch) = try await harness()
        let downloads = harness.account.downloads
        func code(_ body: () async throws -> Void) async -> CloudError.Code? {
            do { try await body() } catch { return (error as? CloudError)?.code }
            return nil
        }
        #expect(await code { _ = try await downloads.fetch(node, .all) } == .wrongSections)
        #expect(await code { _ = try await downloads.fetch(node, .header) } == .wrongSections)
        let unsent = try await harness.commit { try $0.createNode(at: "/unsent").id }
        #expect(await code { _ = try await downloads.fetch(unsent) } == .noSuchNode)
        await harness.account.close()
        _ = scratch
    }

    @Test("Marked nodes are downloaded after the pull that marks them, and reported when the mark is removed")
    func markedByPull()
        async throws
    {
        let (harness, _, scratch) = try await harness(download: .all)
        try await arrive(harness, ["/n: 0123456789"])
        harness.remote.write("home/n", "later")
        try await harness.account.pull()
        try await arrive(harness, ["/n: 0123456789", "/n: later"])
        await harness.account.close()
        _ = scratch
    }

    @Test("A mark by the application starts a download after its commit")
    func markedByCommit() async throws {
        let (harness, _, scratch) = try await harness(download: .all)
        try await arrive(harness, ["/n: 0123456789"])
        try await harness.commit { cloud in try cloud.markNeedsDownload(cloud.node(at: "/n"), .data) }
        try await arrive(harness, ["/n: 0123456789", "/n: 0123456789"])
        await harness.account.close()
        _ = scratch
    }

    private func arrive(_ harness: CloudHarness, _ texts: [String]) async throws {
        for _ in 0..<2000 {
            if try await harness.read({ try $0.nodesMarkedForDownload().isEmpty }),
                harness.handler.state.withLock({ $0.downloaded }) == texts
            {
                break
            }
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(harness.handler.state.withLock { $0.downloaded } == texts)
        #expect(try await harness.read { try $0.nodesMarkedForDownload().isEmpty })
    }

    @Test("Remaining marks are downloaded when the network returns")
    func marksAndNetwork() async throws {
        let isThere = Mutex(false)
        let network = ManualConstraint("the network", isSatisfied: false)
        let (harness, node, scratch) = try await harness(
            reachability: network,
            download: .only { node, _ in node.name == "n" }
        ) { request, _ in
            request.verb.hasPrefix("GET") && !isThere.withLock { $0 }
                ? .before(RemoteError(.unreachable, "No route.")) : nil
        }
        try await harness.commit { cloud in
            let other = try cloud.createNode(at: "/other")
            cloud.markNeedsDownload(other, .data)
        }
        for _ in 0..<2000 {
            if !gets(harness).isEmpty { break }
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(try await harness.read { try $0.isMarkedForDownload($0.node(at: "/n")) })
        isThere.withLock { $0 = true }
        network.set(true)
        for _ in 0..<2000 {
            if try await !harness.read({ try $0.isMarkedForDownload($0.node(at: "/n")) }) { break }
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(harness.handler.state.withLock { $0.downloaded } == ["/n: 0123456789"])
        #expect(try await harness.read { try $0.isMarkedForDownload($0.node(at: "/other")) })
        await harness.account.close()
        _ = (node, scratch)
    }
}
