import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// A node may have content, children, or both.
@Suite struct ContentAndChildrenTests {
    typealias Fault = @Sendable (StrictRemote.Request, Int) -> StrictRemote.Fault?

    let scratch = DownloadTests.Scratch()

    func harness(
        _ remote: StrictRemote,
        encryption: ContentEncryption? = nil,
        handler: TestHandler = TestHandler(),
        download: DownloadPolicy = .onDemand
    ) async throws -> CloudHarness {
        var options = CloudOptions(
            encryption: encryption,
            retry: RetryPolicy(maxAttempts: nil, base: .milliseconds(1), cap: .milliseconds(2)),
            cacheFolder: scratch.folder.appending(path: UUID().uuidString)
        )
        options.download = download
        return try await CloudHarness(remote, handler: handler, options: options)
    }

    /// A machine with a file `/n` that the remote has and has listed.
    func maker(
        _ abilities: RemoteCapabilities = RemoteCapabilities(isLocal: true),
        encryption: ContentEncryption? = nil,
        fault: @escaping Fault = { _, _ in nil }
    ) async throws -> CloudHarness {
        let harness = try await harness(StrictRemote(abilities, fault: fault), encryption: encryption)
        try await harness.commit { cloud in
            let node = try cloud.createNode(at: "/n")
            harness.handler.set("content", of: node.id)
        }
        try await harness.drain()
        try await harness.account.pull()
        return harness
    }

    /// Another machine with the same remote, after its first pull.
    func other(of first: CloudHarness, encryption: ContentEncryption? = nil) async throws -> CloudHarness {
        let second = try await harness(first.remote, encryption: encryption)
        try await second.account.pull()
        _ = second.handler.pulled()
        return second
    }

    func fetch(_ harness: CloudHarness, _ path: TreePath = "/n") async throws -> String {
        let id = try await harness.read { try $0.node(at: path).id }
        let file = try await harness.account.downloads.fetch(id)
        defer { file.release() }
        return try String(contentsOf: file.file, encoding: .utf8)
    }

    func files(_ harness: CloudHarness) -> [String: String] {
        harness.remote.tree.filter { !$0.key.hasSuffix("/") }
    }

    func folders(_ harness: CloudHarness) async throws -> [String] {
        try await harness.tree().keys.filter { $0.hasSuffix("/") }.sorted()
    }

    func addChild(_ harness: CloudHarness, _ path: TreePath = "/n/child") async throws {
        try await harness.commit { cloud in _ = try cloud.createNode(at: path) }
    }

    func edit(_ harness: CloudHarness, _ text: String, _ path: TreePath = "/n") async throws {
        try await harness.commit { cloud in
            let node = try cloud.node(at: path)
            harness.handler.set(text, of: node.id)
            try cloud.upload(node)
        }
    }

    /// Lets machines send and pull until no machine finds changes.
    func settle(_ harnesses: CloudHarness...) async throws {
        for _ in 0..<8 {
            var isQuiet = true
            for harness in harnesses {
                try await harness.drain()
                if try await harness.account.pull() != PullSummary() { isQuiet = false }
            }
            if isQuiet { break }
        }
        for harness in harnesses {
            #expect(try await harness.queued() == [])
            #expect(try await harness.account.pull() == PullSummary())
        }
    }

    static let both = ["home/n%payload": "content", "home/n/child": "content of /n/child"]

    // MARK: Sending

    @Test("Content and children that are created together arrive", arguments: FolderSidecarTests.kinds)
    func createdTogether(_ kind: RemoteCapabilities) async throws {
        let first = try await harness(StrictRemote(kind))
        try await first.commit { cloud in
            let node = try cloud.createNode(at: "/n")
            first.handler.set("content", of: node.id)
            try cloud.createNode(at: "/n/child")
            #expect(node.isFolder)
        }
        try await first.drain()
        #expect(files(first) == Self.both)
        #expect(first.remote.refusals == [])
        let second = try await harness(first.remote)
        try await second.account.pull()
        #expect(second.handler.pulled() == ["new /n", "new /n/child"])
        #expect(try await fetch(second) == "content")
        #expect(try await second.read { try $0.node(at: "/n").hasContent })
        try await settle(first, second)
    }

    @Test(
        "A file that gets a child keeps its content, and its node on all machines",
        arguments: FolderSidecarTests.kinds
    )
    func fileGetsChild(_ kind: RemoteCapabilities)
        async throws
    {
        let first = try await maker(kind)
        let second = try await other(of: first)
        let id = try await second.commit { cloud in
            let node = try cloud.node(at: "/n")
            try cloud.link(node, to: cloud.context.insert(Note(text: "linked")).id)
            return node.id
        }
        try await addChild(first)
        try await first.drain()
        #expect(files(first) == Self.both)
        #expect(first.remote.refusals == [])
        try await second.account.pull()
        #expect(try await second.read { try $0.node(at: "/n").id } == id)
        #expect(try await second.read { try $0.node(at: "/n").link != nil })
        #expect(try await second.read { try $0.node(at: "/n").isFolder })
        #expect(try await fetch(second) == "content")
        try await edit(second, "edited")
        try await settle(second, first)
        #expect(files(first)["home/n%payload"] == "edited")
        #expect(try await fetch(first) == "edited")
    }

    @Test("A conversion does not report an unchanged version as modified")
    func unchangedVersion() async throws {
        let first = try await maker()
        let second = try await other(of: first)
        try await addChild(first)
        try await first.drain()
        try await second.account.pull()
        #expect(second.handler.pulled() == ["new /n/child"])
        try await settle(first, second)
    }

    @Test(
        "An interrupted conversion continues",
        arguments: [
            "MOVE home/n%payload", "COPY home/n%payload", "PUT home/n%payload", "DELETE home/n", "MKCOL home/n",
        ],
        [true, false]
    )
    func interruptedConversion(_ request: String, isCarriedOut: Bool) async throws {
        for kind in FolderSidecarTests.kinds {
            let isReady = Mutex(false)
            let once = Once()
            let first = try await maker(kind) { there, _ in
                guard isReady.withLock({ $0 }), "\(there)" == request, once() else { return nil }
                return isCarriedOut ? .answerLost : .before(RemoteError(.unavailable, "Not now."))
            }
            isReady.withLock { $0 = true }
            try await addChild(first)
            try await first.drain()
            #expect(files(first) == Self.both)
            try await settle(first)
        }
    }

    @Test("Between two steps of a conversion, other machines miss nothing")
    func betweenSteps() async throws {
        let isReady = Mutex(false)
        let isStuck = Mutex(true)
        let first = try await maker { request, _ in
            guard isReady.withLock({ $0 }), request.verb == "MKCOL", isStuck.withLock({ $0 }) else { return nil }
            return .before(RemoteError(.unavailable, "Not now."))
        }
        let second = try await other(of: first)
        let id = try await second.read { try $0.node(at: "/n").id }
        isReady.withLock { $0 = true }
        try await addChild(first)
        first.account.uploads.resume()
        while files(first)["home/n%payload"] == nil { try await Task.sleep(for: .milliseconds(1)) }
        #expect(files(first)["home/n"] == nil && first.remote.tree["home/n/"] == nil)
        try await second.account.pull()
        #expect(second.handler.pulled() == [])
        #expect(try await second.read { try $0.node(at: "/n").id } == id)
        #expect(try await fetch(second) == "content")
        // This machine has never seen the file.
        let third = try await harness(first.remote)
        try await third.account.pull()
        #expect(third.handler.pulled() == ["new /n"])
        #expect(try await fetch(third) == "content")
        isStuck.withLock { $0 = false }
        try await settle(first, second, third)
        #expect(files(first) == Self.both)
    }

    @Test("A folder can get content")
    func folderGetsContent() async throws {
        let first = try await harness(StrictRemote())
        try await first.commit { cloud in _ = try cloud.createNode(at: "/n/child") }
        try await first.drain()
        #expect(try await first.read { try !$0.node(at: "/n").hasContent })
        let second = try await other(of: first)
        try await edit(first, "content")
        try await first.drain()
        #expect(files(first) == Self.both)
        try await second.account.pull()
        #expect(second.handler.pulled() == ["modified /n: header, data"])
        #expect(try await fetch(second) == "content")
        try await settle(first, second)
    }

    // MARK: Content without its folder

    @Test(
        "Content that others have changed is not replaced by a folder that takes its place",
        arguments: FolderSidecarTests.kinds
    )
    func editedContentAndFolder(
        _ kind: RemoteCapabilities
    )
        async throws
    {
        let first = try await maker(kind)
        try await addChild(first)
        try await first.commit { cloud in
            let node = try cloud.createNode(at: "/m/child")
            let folder = try #require(node.parent)
            first.handler.set("content of m", of: folder.id)
            try cloud.upload(folder)
        }
        try await settle(first)
        first.remote.write("home/n%payload", "theirs")
        try await first.commit { cloud in
            try cloud.delete(cloud.node(at: "/n"))
            try cloud.move(cloud.node(at: "/m"), to: "/n")
        }
        try await settle(first)
        let texts = files(first).values
        #expect(texts.contains("theirs") && texts.contains("content of m"), "\(files(first))")
    }

    @Test("Content without its folder stays if a folder with content is moved to its place")
    func contentWithoutFolder() async throws {
        let first = try await maker()
        try await addChild(first)
        try await settle(first)
        // Another machine is about to convert its file to a folder.
        first.remote.write("home/m%payload", "theirs")
        try await first.commit { cloud in try cloud.move(cloud.node(at: "/n"), to: "/m") }
        try await settle(first)
        #expect(
            files(first) == [
                "home/m%payload": "theirs", "home/m 2%payload": "content", "home/m 2/child": "content of /n/child",
            ]
        )
    }

    @Test("A folder of which only the content remains can be changed and moved")
    func onlyContentLeft() async throws {
        let first = try await maker()
        try await addChild(first)
        try await settle(first)
        first.remote.state.withLock { state in
            for path in ["home/n", "home/n/child"] { state.entries[path] = nil }
        }
        try await first.account.pull()
        #expect(try await first.tree().keys.sorted() == ["home/n%payload", "home/n/"])
        try await edit(first, "edited")
        try await settle(first)
        #expect(first.remote.tree == ["home/": "", "home/n/": "", "home/n%payload": "edited"])
        first.remote.write("home/n", nil)
        try await first.commit { cloud in try cloud.move(cloud.node(at: "/n"), to: "/m") }
        try await settle(first)
        #expect(first.remote.tree == ["home/": "", "home/m/": "", "home/m%payload": "edited"])
    }

    // MARK: Moving, copying, deleting

    @Test("A file that others have turned into a folder is not deleted", arguments: FolderSidecarTests.kinds)
    func convertedFileNotDeleted(_ kind: RemoteCapabilities) async throws {
        let first = try await maker(kind)
        let second = try await other(of: first)
        try await addChild(second)
        try await second.drain()
        try await first.commit { cloud in try cloud.delete(cloud.node(at: "/n")) }
        try await settle(first, second)
        #expect(files(first) == Self.both)
        #expect(try await fetch(first) == "content")
    }

    @Test("A file that others have turned into a folder is moved as a folder", arguments: FolderSidecarTests.kinds)
    func convertedFileMoved(_ kind: RemoteCapabilities) async throws {
        let first = try await maker(kind)
        let second = try await other(of: first)
        try await addChild(second)
        try await second.drain()
        let id = try await first.commit { cloud in
            let node = try cloud.node(at: "/n")
            try cloud.move(node, to: "/m")
            return node.id
        }
        try await settle(first, second)
        #expect(files(first) == ["home/m%payload": "content", "home/m/child": "content of /n/child"])
        #expect(try await first.read { try $0.node(at: "/m").id } == id)
        #expect(try await fetch(second, "/m") == "content")
    }

    @Test("Content that others have moved stays marked until a pull has found it")
    func movedContent() async throws {
        let first = try await maker()
        try await addChild(first)
        try await settle(first)
        let isWanted = Mutex(false)
        let second = try await harness(first.remote, download: .only { _, _ in isWanted.withLock { $0 } })
        try await second.account.pull()
        try await edit(first, "edited")
        try await first.drain()
        try await second.account.pull()
        try await first.commit { cloud in try cloud.move(cloud.node(at: "/n"), to: "/m") }
        try await first.drain()
        isWanted.withLock { $0 = true }
        await #expect(throws: CloudError.self) { try await second.account.downloadMarked() }
        try await second.account.pull()
        try await second.account.downloadMarked()
        #expect(second.handler.state.withLock { $0.downloaded }.contains("/m: edited"))
        #expect(try await second.read { try $0.markedSections(of: $0.node(at: "/m")).isEmpty })
    }

    @Test("Content moves with its folder", arguments: FolderSidecarTests.kinds)
    func contentFollowsFolder(_ kind: RemoteCapabilities) async throws {
        let first = try await maker(kind)
        try await addChild(first)
        try await first.drain()
        let second = try await other(of: first)
        try await first.commit { cloud in
            try cloud.move(cloud.node(at: "/n"), to: "/m")
            _ = try cloud.copy(cloud.node(at: "/m"), to: "/copy")
        }
        try await first.drain()
        #expect(
            files(first) == [
                "home/m%payload": "content", "home/m/child": "content of /n/child",
                "home/copy%payload": "content", "home/copy/child": "content of /n/child",
            ]
        )
        try await settle(first, second)
        #expect(try await fetch(second, "/copy") == "content")
        try await first.commit { cloud in
            try cloud.delete(cloud.node(at: "/m"))
            try cloud.delete(cloud.node(at: "/copy"))
        }
        try await settle(first, second)
        #expect(files(first) == [:])
        #expect(try await second.tree() == [:])
    }

    @Test("Content that others have changed is not deleted with the folder")
    func editedContentKept() async throws {
        let first = try await maker()
        try await addChild(first)
        try await settle(first)
        first.remote.write("home/n%payload", "theirs")
        try await first.commit { cloud in try cloud.delete(cloud.node(at: "/n")) }
        try await settle(first)
        #expect(files(first) == ["home/n%payload": "theirs"])
        #expect(try await fetch(first) == "theirs")
    }

    @Test(
        "A file that is deleted during its conversion is gone",
        arguments: [
            (FolderSidecarTests.kinds[0], "MKCOL home/n"), (FolderSidecarTests.kinds[2], "MKCOL home/n"),
            (FolderSidecarTests.kinds[2], "DELETE home/n"), (FolderSidecarTests.kinds[3], "DELETE home/n"),
        ]
    )
    func deletedDuringConversion(_ kind: RemoteCapabilities, last: String) async throws {
        let isReady = Mutex(false)
        let first = try await maker(kind) { request, _ in
            guard isReady.withLock({ $0 }), "\(request)" == last else { return nil }
            return .before(RemoteError(.unavailable, "Not now."))
        }
        isReady.withLock { $0 = true }
        try await addChild(first)
        first.account.uploads.resume()
        while files(first)["home/n%payload"] == nil { try await Task.sleep(for: .milliseconds(1)) }
        try await first.commit { cloud in try cloud.delete(cloud.node(at: "/n")) }
        isReady.withLock { $0 = false }
        try await settle(first)
        #expect(files(first) == [:])
        #expect(try await first.tree() == [:])
    }

    // MARK: Listings

    @Test("Content that no listing shows stays")
    func unlistedContent() async throws {
        let first = try await maker()
        try await addChild(first)
        try await settle(first)
        first.remote.state.withLock { $0.shows = { path, entry in path.hasSuffix("%payload") ? nil : entry } }
        #expect(try await first.account.pull() == PullSummary())
        #expect(try await fetch(first) == "content")
    }

    @Test("A folder and content that the remote has and a listing lacks are an error of the remote")
    func missingFromListing()
        async throws
    {
        for kind in [FolderSidecarTests.kinds[0], FolderSidecarTests.kinds[2]] {
            let first = try await maker(kind)
            try await first.commit { cloud in try cloud.delete(cloud.createNode(at: "/n/child")) }
            try await settle(first)
            #expect(files(first) == ["home/n%payload": "content"])
            first.remote.state.withLock { $0.shows = { path, entry in path.hasPrefix("home/n") ? nil : entry } }
            let error = await #expect(throws: RemoteError.self) { try await first.account.pull() }
            #expect(error?.code == .inconsistentListing)
            #expect(try await first.read { try $0.node(at: "/n").hasContent })
        }
    }

    // MARK: Encrypted

    @Test("In an encrypted account, the content and metadata of a folder are one file")
    func encryptedFolder() async throws {
        let encryption = ContentEncryption(EncryptionFixture.account)
        let first = try await maker(encryption: encryption)
        let second = try await other(of: first, encryption: encryption)
        try await addChild(first)
        try await first.drain()
        #expect(files(first).keys.sorted() == ["home/n%payload", "home/n/child"])
        try await second.account.pull()
        #expect(try await fetch(second) == "content")
        try await first.commit { cloud in _ = try cloud.upload(cloud.node(at: "/n"), .metadata) }
        try await settle(first, second)
        #expect(files(first).keys.sorted() == ["home/n%payload", "home/n/child"])
        // The content was sent along with the metadata.
        #expect(try await fetch(second) == "content")
        let node = try await second.read { try $0.node(at: "/n").id }
        let metadata = try await second.account.downloads.fetch(node, .metadata)
        defer { metadata.release() }
        #expect(try String(contentsOf: metadata.file, encoding: .utf8) == "content metadata")
    }

    @Test("An encrypted folder with metadata only has no content after a check")
    func encryptedMetadataOnly()
        async throws
    {
        let encryption = ContentEncryption(EncryptionFixture.account)
        let first = try await harness(StrictRemote(), encryption: encryption)
        try await first.commit { cloud in _ = try cloud.upload(cloud.createFolder(at: "/n"), .metadata) }
        try await first.drain()
        let second = try await other(of: first, encryption: encryption)
        await #expect(throws: (any Error).self) { try await fetch(second) }
        #expect(try await second.read { try !$0.node(at: "/n").hasContent })
        let error = await #expect(throws: CloudError.self) { try await fetch(second) }
        #expect(error?.code == .noSuchNode)
    }
}
