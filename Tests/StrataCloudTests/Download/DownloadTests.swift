import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// Each content is downloaded once, whole, and in the version that the download reports.
@Suite struct DownloadTests {
    /// A stage with its own cache, whose remote has a file `/n`.
    private func stage(
        _ text: String = "0123456789",
        retry: RetryPolicy = .standard,
        reachability: (any ConstraintObserver)? = nil,
        download: DownloadPolicy = .onDemand,
        fault: @escaping @Sendable (StrictRemote.Request, Int) -> StrictRemote.Fault? = { _, _ in nil }
    ) async throws -> (CloudStage, ObjectID<CloudNode>, Scratch) {
        let scratch = Scratch()
        let remote = StrictRemote(fault: fault)
        remote.folder("home")
        remote.write("home/n", text)
        let stage = try await CloudStage(
            remote,
            options: CloudOptions(
                retry: retry,
                reachability: reachability,
                download: download,
                cacheFolder: scratch.folder
            )
        )
        try await stage.account.pull()
        let id = try await stage.read { try $0.node(at: "/n").id }
        return (stage, id, scratch)
    }

    /// The same stage, but downloads wait at a gate, and the stream reports their arrival.
    private func stage(_ gate: Gate) async throws -> (CloudStage, ObjectID<CloudNode>, Scratch, AsyncStream<Void>) {
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let (stage, node, scratch) = try await stage { request, _ in
            guard request.verb == "GET" else { return nil }
            hasBegun.yield()
            return .gate(gate)
        }
        return (stage, node, scratch, begun)
    }

    /// A folder that is deleted when this object is released.
    final class Scratch: Sendable {
        let folder = FileManager.default.temporaryDirectory.appending(path: "strata-\(UUID().uuidString)")
        deinit { try? FileManager.default.removeItem(at: folder) }

        var partial: [String] {
            (try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "partial").path)) ?? []
        }
    }

    private func gets(_ stage: CloudStage) -> [String] {
        stage.remote.requests.map(\.verb).filter { $0.hasPrefix("GET") }
    }

    private func text(_ file: DownloadedFile) throws -> String { try String(contentsOf: file.file, encoding: .utf8) }

    @Test func `a temporary file is there until it is released`() async throws {
        let (stage, node, scratch) = try await stage()
        let file = try await stage.account.downloads.fetch(node)
        #expect(try text(file) == "0123456789")
        #expect(file.isTemporary && file.size == 10)
        #expect(try await stage.read { try $0.node(at: "/n").eTag } == file.eTag)
        file.release()
        #expect(!FileManager.default.fileExists(atPath: file.file.path))
        #expect(scratch.partial == [])
        await stage.account.close()
    }

    @Test func `what the cache has of the known version is not fetched again, and a new version is`() async throws {
        let (stage, node, scratch) = try await stage()
        let options = DownloadOptions(cache: true)
        for _ in 0..<3 { try await stage.account.downloads.fetch(node, options: options).release() }
        #expect(gets(stage).count == 1)
        stage.remote.write("home/n", "later")
        try await stage.account.pull()
        let file = try await stage.account.downloads.fetch(node, options: options)
        #expect(try text(file) == "later")
        file.release()
        #expect(gets(stage).count == 2)
        await stage.account.close()
        _ = scratch
    }

    @Test func `many who ask at once share one transfer, and each has the file until it is released`() async throws {
        let gate = Gate()
        let (stage, node, scratch) = try await stage { request, _ in request.verb == "GET" ? .gate(gate) : nil }
        let downloads = stage.account.downloads
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
        #expect(gets(stage).count == 1)
        for (index, file) in files.enumerated() {
            #expect(try text(file) == "0123456789", "\(index)")
            file.release()
        }
        await stage.account.close()
        #expect(scratch.partial == [])
    }

    @Test func `what the cache does not take leaves nothing behind`() async throws {
        let (stage, node, scratch) = try await stage()
        let cache = try await stage.account.downloads.cache()
        try await cache.transaction { index in
            try index.database.execute(
                sql: "CREATE TRIGGER refusal BEFORE INSERT ON entry BEGIN SELECT raise(ABORT, 'no room'); END"
            )
        }
        for _ in 0..<3 {
            let error = await #expect(throws: CloudError.self) {
                try await stage.account.downloads.fetch(node, options: DownloadOptions(cache: true))
            }
            #expect(error?.code == .cacheUnavailable)
        }
        let temporary = cache.folder.temporary(of: cache.owner)
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path) == [])
        #expect(scratch.partial == [])
        await stage.account.close()
    }

    @Test func `a transfer that breaks off goes on where it was`() async throws {
        let cuts = Mutex(2)
        let (stage, node, scratch) = try await stage { request, _ in
            request.verb == "BODY" && cuts.takeOne() ? .cut(4) : nil
        }
        let file = try await stage.account.downloads.fetch(node)
        #expect(try text(file) == "0123456789")
        #expect(gets(stage) == ["GET", "GET from 4", "GET from 8"])
        file.release()
        await stage.account.close()
        _ = scratch
    }

    @Test func `what has arrived outlives the account, and the process it may be`() async throws {
        let isCut = Mutex(true)
        let (stage, node, scratch) = try await stage { request, _ in
            isCut.withLock { $0 } && request.verb == "BODY"
                ? .cut(0) : isCut.withLock { $0 } && request.verb == "GET" ? .pause(1) : nil
        }
        await #expect(throws: RemoteError.self) { _ = try await stage.account.downloads.fetch(node) }
        isCut.withLock { $0 = false }
        await stage.account.close()
        let again = try await CloudStage(
            stage.remote,
            stack: stage.stack,
            options: CloudOptions(cacheFolder: scratch.folder)
        )
        let file = try await again.account.downloads.fetch(node)
        #expect(try text(file) == "0123456789")
        file.release()
        await again.account.close()
    }

    @Test func `a version that comes meanwhile is what arrives, whole`() async throws {
        let isFirst = Mutex(true)
        let (stage, node, scratch) = try await stage { request, _ in
            guard request.verb == "BODY",
                isFirst.withLock({ first in
                    defer { first = false }; return first
                })
            else { return nil }
            return .cut(4)
        }
        // The listing shows the first version. The body breaks off, and then the remote has another version.
        stage.remote.write("home/n", "another version")
        let file = try await stage.account.downloads.fetch(node)
        #expect(try text(file) == "another version")
        #expect(file.eTag != (try await stage.read { try $0.node(at: "/n").eTag }))
        file.release()
        await stage.account.close()
        #expect(scratch.partial == [])
    }

    @Test func `a ticket that is cancelled ends the transfer when it is the last one`() async throws {
        let gate = Gate()
        let (stage, node, scratch, begun) = try await stage(gate)
        let downloads = stage.account.downloads
        let (first, second) = (try downloads.begin(node), try downloads.begin(node))
        for await _ in begun { break }
        first.cancel()
        await #expect(throws: CancellationError.self) { _ = try await first.file }
        gate.open()
        let file = try await second.file
        #expect(try text(file) == "0123456789")
        file.release()
        await stage.account.close()
        await #expect(throws: CloudError.self) { _ = try await downloads.fetch(node) }
        _ = scratch
    }

    @Test func `who asks while a transfer ends that nobody wants any more has another one`() async throws {
        let gate = Gate(isCancellable: false)
        let (stage, node, scratch, begun) = try await stage(gate)
        let downloads = stage.account.downloads
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
        await stage.account.close()
    }

    @Test func `a server that wants to be left alone for long is, and says so to who asks`() async throws {
        let (stage, node, scratch) = try await stage { request, _ in
            request.verb == "GET"
                ? .before(RemoteError(.throttled, "Too many.", retryAfter: .seconds(86_400))) : nil
        }
        let error = await #expect(throws: RemoteError.self) { try await stage.account.downloads.fetch(node) }
        #expect(error?.code == .throttled && error?.retryAfter == .seconds(86_400))
        #expect(gets(stage).count == 1)
        await stage.account.close()
        _ = scratch
    }

    @Test(arguments: [4, 14])
    func `what others have written larger is downloaded whole, also when it breaks off`(cut: Int) async throws {
        let cuts = Mutex(1)
        let (stage, node, scratch) = try await stage { request, _ in
            request.verb == "BODY" && cuts.takeOne() ? .cut(cut) : nil
        }
        stage.remote.write("home/n", "01234567890123456789")
        try await stage.commit { _ = try $0.upload($0.node(at: "/n")) }
        try await stage.drain()
        try await stage.commit { cloud in try cloud.resolve(#require(cloud.conflicts().first), .theirs) }
        try await stage.drain()
        #expect(try await stage.read { try $0.node(at: "/n").remote?.size } == 20)
        let file = try await stage.account.downloads.fetch(node)
        #expect(try text(file) == "01234567890123456789")
        #expect(gets(stage) == ["GET", "GET from \(cut)"])
        file.release()
        await stage.account.close()
        _ = scratch
    }

    @Test func `a size that is known wrongly is set right by what the remote says`() async throws {
        let cuts = Mutex(1)
        let (stage, node, scratch) = try await stage("01234567890123456789") { request, _ in
            request.verb == "BODY" && cuts.takeOne() ? .cut(4) : nil
        }
        try await stage.commit { try $0.node(at: "/n").remote?.size = 10 }
        let file = try await stage.account.downloads.fetch(node)
        #expect(try text(file) == "01234567890123456789")
        file.release()
        await stage.account.close()
        _ = scratch
    }

    @Test func `what the remote has no versions of is not taken from the cache`() async throws {
        let (stage, node, scratch) = try await stage()
        stage.remote.state.withLock { $0.tellsVersions = false }
        stage.remote.write("home/n", "first")
        try await stage.account.pull()
        let options = DownloadOptions(cache: true)
        try await stage.account.downloads.fetch(node, options: options).release()
        stage.remote.write("home/n", "other")
        let file = try await stage.account.downloads.fetch(node, options: options)
        #expect(try text(file) == "other")
        file.release()
        await stage.account.close()
        _ = scratch
    }

    @Test func `what was broken off and is not gone on with makes room for what comes later`() throws {
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

    @Test func `what cannot be downloaded is said so`() async throws {
        let (stage, node, scratch) = try await stage()
        let downloads = stage.account.downloads
        func code(_ body: () async throws -> Void) async -> CloudError.Code? {
            do { try await body() } catch { return (error as? CloudError)?.code }
            return nil
        }
        #expect(await code { _ = try await downloads.fetch(node, .all) } == .wrongSections)
        #expect(await code { _ = try await downloads.fetch(node, .header) } == .wrongSections)
        let unsent = try await stage.commit { try $0.createNode(at: "/unsent").id }
        #expect(await code { _ = try await downloads.fetch(unsent) } == .noSuchNode)
        await stage.account.close()
        _ = scratch
    }

    @Test func `marked nodes are downloaded behind the pull that marks them, and told of with the end of the mark`()
        async throws
    {
        let (stage, _, scratch) = try await stage(download: .all)
        try await arrive(stage, ["/n: 0123456789"])
        stage.remote.write("home/n", "later")
        try await stage.account.pull()
        try await arrive(stage, ["/n: 0123456789", "/n: later"])
        await stage.account.close()
        _ = scratch
    }

    @Test func `what is marked by hand is downloaded behind the commit that says so`() async throws {
        let (stage, _, scratch) = try await stage(download: .all)
        try await arrive(stage, ["/n: 0123456789"])
        try await stage.commit { cloud in try cloud.markNeedsDownload(cloud.node(at: "/n"), .data) }
        try await arrive(stage, ["/n: 0123456789", "/n: 0123456789"])
        await stage.account.close()
        _ = scratch
    }

    private func arrive(_ stage: CloudStage, _ texts: [String]) async throws {
        for _ in 0..<2000 {
            if try await stage.read({ try $0.nodesMarkedForDownload().isEmpty }),
                stage.handler.state.withLock({ $0.downloaded }) == texts
            {
                break
            }
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(stage.handler.state.withLock { $0.downloaded } == texts)
        #expect(try await stage.read { try $0.nodesMarkedForDownload().isEmpty })
    }

    @Test func `what stays marked is downloaded when the network returns`() async throws {
        let isThere = Mutex(false)
        let network = ManualConstraint("the network", isSatisfied: false)
        let (stage, node, scratch) = try await stage(
            reachability: network,
            download: .only { node, _ in node.name == "n" }
        ) { request, _ in
            request.verb.hasPrefix("GET") && !isThere.withLock { $0 }
                ? .before(RemoteError(.unreachable, "No route.")) : nil
        }
        try await stage.commit { cloud in
            let other = try cloud.createNode(at: "/other")
            cloud.markNeedsDownload(other, .data)
        }
        for _ in 0..<2000 {
            if !gets(stage).isEmpty { break }
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(try await stage.read { try $0.isMarkedForDownload($0.node(at: "/n")) })
        isThere.withLock { $0 = true }
        network.set(true)
        for _ in 0..<2000 {
            if try await !stage.read({ try $0.isMarkedForDownload($0.node(at: "/n")) }) { break }
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(stage.handler.state.withLock { $0.downloaded } == ["/n: 0123456789"])
        #expect(try await stage.read { try $0.isMarkedForDownload($0.node(at: "/other")) })
        await stage.account.close()
        _ = (node, scratch)
    }
}
