import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// The metadata and thumbnails of folders are transferred in the same way as those of files.
@Suite struct FolderSidecarTests {
    typealias Fault = @Sendable (StrictRemote.Request, Int) -> StrictRemote.Fault?

    private let scratch = DownloadTests.Scratch()

    /// Remotes that move folders in different ways.
    static let kinds: [RemoteCapabilities] = [
        RemoteCapabilities(isLocal: true),
        RemoteCapabilities(copies: false, isLocal: true),
        RemoteCapabilities(hasFolders: false, moves: false, isLocal: true),
        RemoteCapabilities(hasFolders: false, copies: false, moves: false, isLocal: true),
    ]

    private func harness(
        _ remote: StrictRemote,
        encryption: ContentEncryption? = nil,
        handler: TestHandler = TestHandler()
    ) async throws -> CloudHarness {
        let retry = RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2))
        let folder = scratch.folder.appending(path: UUID().uuidString)
        let options = CloudOptions(encryption: encryption, retry: retry, cacheFolder: folder)
        return try await CloudHarness(remote, handler: handler, options: options)
    }

    /// A machine that has made a folder with metadata, and a file in the folder.
    private func maker(
        _ abilities: RemoteCapabilities = RemoteCapabilities(isLocal: true),
        fault: @escaping Fault = { _, _ in nil }
    ) async throws -> CloudHarness {
        let harness = try await harness(StrictRemote(abilities, fault: fault))
        try await harness.commit { cloud in
            let folder = try cloud.createFolder(at: "/f")
            try cloud.createNode(at: "/f/a")
            try cloud.upload(folder, [.metadata, .thumbnail])
        }
        try await harness.drain()
        return harness
    }

    /// Another machine with the same remote, after its first pull.
    private func other(of first: CloudHarness, encryption: ContentEncryption? = nil) async throws -> CloudHarness {
        let second = try await harness(first.remote, encryption: encryption)
        try await second.account.pull()
        return second
    }

    private func fetch(_ harness: CloudHarness, _ section: ContentSections, _ path: TreePath = "/f") async throws
        -> String
    {
        let id = try await harness.read { try $0.node(at: path).id }
        let file = try await harness.account.downloads.fetch(id, section)
        defer { file.release() }
        return try String(contentsOf: file.file, encoding: .utf8)
    }

    private func files(_ harness: CloudHarness) -> [String] {
        harness.remote.tree.keys.filter { !$0.hasSuffix("/") }.sorted()
    }

    /// Expects that the queue is empty, that a pull finds no changes, and that there are no conflicts.
    private func expectSettled(_ harnesses: CloudHarness...) async throws {
        for harness in harnesses {
            #expect(try await harness.queued() == [])
            #expect(try await harness.account.pull() == PullSummary())
            #expect(try await harness.read { try $0.conflicts().isEmpty })
            await harness.account.close()
        }
    }

    @Test("Another machine finds, downloads and changes the metadata of a folder", arguments: kinds)
    func otherMachine(_ kind: RemoteCapabilities)
        async throws
    {
        let first = try await maker(kind)
        #expect(files(first) == ["home/f%metadata", "home/f%thumbnail", "home/f/a"])
        #expect(try await fetch(first, .metadata) == "content of /f metadata")
        let second = try await other(of: first)
        #expect(second.handler.pulled() == ["new /f", "new /f/a"])
        #expect(try await fetch(second, .metadata) == "content of /f metadata")
        #expect(try await fetch(second, .thumbnail) == "content of /f thumbnail")
        second.handler.set("changed", of: try await second.read { try $0.node(at: "/f").id })
        try await second.commit { cloud in _ = try cloud.upload(cloud.node(at: "/f"), .metadata) }
        try await second.drain()
        #expect(try await first.account.pull().modified == 1)
        #expect(first.handler.pulled() == ["modified /f: metadata"])
        #expect(try await fetch(first, .metadata) == "changed metadata")
        try await expectSettled(first, second)
    }

    @Test("A folder has no data section")
    func noData() async throws {
        let first = try await maker()
        for section in [ContentSections.data, .header] {
            let error = await #expect(throws: CloudError.self) {
                let id = try await first.read { try $0.node(at: "/f").id }
                if section == .header {
                    _ = try await first.account.downloads.header(of: id)
                } else {
                    _ = try await first.account.downloads.fetch(id, section)
                }
            }
            #expect(error?.code == .noSuchNode)
        }
        await first.account.close()
    }

    @Test("The metadata moves with the folder", arguments: kinds)
    func movesWithFolder(_ kind: RemoteCapabilities) async throws {
        let first = try await maker(kind)
        let second = try await other(of: first)
        try await first.commit { cloud in try cloud.move(cloud.node(at: "/f"), to: "/g") }
        try await first.drain()
        #expect(files(first) == ["home/g%metadata", "home/g%thumbnail", "home/g/a"])
        try await first.commit { cloud in _ = try cloud.upload(cloud.node(at: "/g"), .metadata) }
        try await first.drain()
        try await second.account.pull()
        #expect(try await fetch(second, .metadata, "/g") == "content of /g metadata")
        try await expectSettled(first, second)
    }

    @Test(
        "An interrupted move continues",
        arguments: ["home/g", "home/g%metadata", "home/g%thumbnail"],
        [true, false]
    )
    func interruptedMove(_ place: String, isCarriedOut: Bool) async throws {
        let once = Once()
        let first = try await maker { request, _ in
            guard request.verb == "MOVE", request.key == place, once() else { return nil }
            return isCarriedOut ? .answerLost : .before(RemoteError(.unavailable, "Not now."))
        }
        try await first.commit { cloud in try cloud.move(cloud.node(at: "/f"), to: "/g") }
        try await first.drain()
        #expect(files(first) == ["home/g%metadata", "home/g%thumbnail", "home/g/a"])
        try await expectSettled(first)
    }

    @Test("Metadata left at the destination of a folder does not become the folder's metadata")
    func foreignMetadata() async throws {
        let first = try await maker()
        first.remote.write("home/g%metadata", "left")
        try await first.commit { cloud in try cloud.move(cloud.node(at: "/f"), to: "/g") }
        try await first.drain()
        #expect(first.remote.tree["home/g%metadata"] == "content of /f metadata")
        #expect(try await first.read { try $0.find("/g") != nil })
        try await expectSettled(first)
    }

    @Test("Metadata that others write at the new place during a move stays")
    func editDuringMove() async throws {
        let isMoved = Mutex(false)
        let first = try await maker { request, _ in
            guard request.verb == "MOVE", request.key == "home/g%metadata" else { return nil }
            return isMoved.withLock { isMoved in
                defer { isMoved = true }
                return isMoved ? nil : .before(RemoteError(.unavailable, "Not now."))
            }
        }
        try await first.commit { cloud in try cloud.move(cloud.node(at: "/f"), to: "/g") }
        first.account.uploads.resume()
        while !isMoved.withLock({ $0 }), !Task.isCancelled { await Task.yield() }
        first.remote.write("home/g%metadata", "theirs")
        try await first.drain()
        #expect(first.remote.tree["home/g%metadata"] == "theirs")
        #expect(try await first.account.pull().modified == 1)
        #expect(try await fetch(first, .metadata, "/g") == "theirs")
        try await expectSettled(first)
    }

    @Test("The metadata is deleted with the folder", arguments: kinds)
    func deletedWithFolder(_ kind: RemoteCapabilities) async throws {
        let first = try await maker(kind)
        let second = try await other(of: first)
        try await first.commit { cloud in try cloud.delete(cloud.node(at: "/f")) }
        try await first.drain()
        #expect(files(first) == [])
        try await second.account.pull()
        #expect(try await second.read { try $0.find("/f") == nil })
        try await expectSettled(first, second)
    }

    @Test(
        "An interrupted delete continues",
        arguments: ["home/f", "home/f%metadata", "home/f%thumbnail"],
        [true, false]
    )
    func interruptedDelete(_ place: String, isCarriedOut: Bool) async throws {
        let once = Once()
        let first = try await maker { request, _ in
            guard request.verb == "DELETE", request.key == place, once() else { return nil }
            return isCarriedOut ? .answerLost : .before(RemoteError(.unavailable, "Not now."))
        }
        try await first.commit { cloud in try cloud.delete(cloud.node(at: "/f")) }
        try await first.drain()
        #expect(first.remote.tree == ["home/": ""])
        try await expectSettled(first)
    }

    @Test("The metadata stays if others have put a file into the folder")
    func folderNotEmpty() async throws {
        let first = try await maker()
        first.remote.write("home/f/theirs", "theirs")
        try await first.commit { cloud in try cloud.delete(cloud.node(at: "/f")) }
        try await first.drain()
        #expect(files(first) == ["home/f%metadata", "home/f%thumbnail", "home/f/theirs"])
        try await first.account.pull()
        #expect(try await fetch(first, .metadata) == "content of /f metadata")
        try await expectSettled(first)
    }

    @Test("Metadata whose upload got no answer is deleted with the folder")
    func lostAnswer() async throws {
        let first = try await harness(
            StrictRemote { request, count in
                // Each answer is lost, so that the folder is deleted before an answer arrives.
                request.verb == "PUT" && request.key == "home/f%metadata" ? .answerLost : nil
            }
        )
        try await first.commit { cloud in _ = try cloud.upload(cloud.createFolder(at: "/f"), .metadata) }
        first.account.uploads.resume()
        while !first.remote.tree.keys.contains("home/f%metadata"), !Task.isCancelled { await Task.yield() }
        try await first.commit { cloud in try cloud.delete(cloud.node(at: "/f")) }
        try await first.drain()
        #expect(first.remote.tree == ["home/": ""])
        try await expectSettled(first)
    }

    @Test("Two machines that create the same folder have a conflict about its metadata")
    func conflictOfTwoMachines() async throws {
        let first = try await maker()
        let second = try await harness(first.remote)
        try await second.commit { cloud in
            let folder = try cloud.createFolder(at: "/f")
            second.handler.set("mine", of: folder.id)
            try cloud.upload(folder, .metadata)
        }
        try await second.account.pull()
        try await second.drain()
        #expect(first.remote.tree["home/f%metadata"] == "content of /f metadata")
        #expect(try await second.read { try $0.conflicts().map(\.section) } == [.metadata])
        let error = await #expect(throws: CloudError.self) {
            try await second.commit { cloud in
                for conflict in try cloud.conflicts() { try cloud.resolve(conflict, .both) }
            }
        }
        #expect(error?.code == .notAFile)
        try await second.commit { cloud in
            for conflict in try cloud.conflicts() { try cloud.resolve(conflict, .merged) }
        }
        try await second.drain()
        #expect(first.remote.tree["home/f%metadata"] == "mine metadata")
        try await second.account.pull()
        #expect(try await fetch(second, .thumbnail) == "content of /f thumbnail")
        await first.account.close()
        try await expectSettled(second)
    }

    @Test("A folder that others have deleted comes back if its metadata has changed here")
    func deletedByOthers() async throws {
        let first = try await maker()
        try await first.account.pull()
        first.remote.state.withLock { state in state.entries = state.entries.filter { !$0.key.hasPrefix("home/f") } }
        try await first.commit { cloud in _ = try cloud.upload(cloud.node(at: "/f"), .metadata) }
        try await first.drain()
        try await first.account.pull()
        try await first.drain()
        #expect(files(first) == ["home/f%metadata", "home/f%thumbnail"])
        #expect(first.remote.tree["home/f/"] == "")
        try await expectSettled(first)
    }

    @Test("A pull reports the metadata alone")
    func metadataAlone() async throws {
        let first = try await maker()
        try await first.account.pull()
        first.remote.write("home/f%metadata", "theirs")
        #expect(try await first.account.pull().modified == 1)
        #expect(first.handler.pulled() == ["modified /f: metadata"])
        first.remote.write("home/f%metadata", nil)
        #expect(try await first.account.pull().modified == 1)
        try await expectSettled(first)
    }

    // MARK: Encrypted

    private static let encryption = ContentEncryption(EncryptionFixture.account)

    @Test("In an encrypted account, the metadata lies beside the folder, and only owners of the key can read it")
    func encrypted() async throws {
        let first = try await harness(StrictRemote(), encryption: Self.encryption)
        try await first.commit { cloud in _ = try cloud.upload(cloud.createFolder(at: "/f"), .metadata) }
        try await first.drain()
        #expect(files(first) == ["home/f%payload"])
        #expect(!first.remote.bytes("home/f%payload").contains(Data("metadata".utf8)))
        let second = try await other(of: first, encryption: Self.encryption)
        #expect(try await fetch(second, .metadata) == "content of /f metadata")
        // The upload sends the remote's metadata along.
        second.handler.set([.thumbnail: Data("small".utf8)], of: try await second.read { try $0.node(at: "/f").id })
        try await second.commit { cloud in _ = try cloud.upload(cloud.node(at: "/f"), .thumbnail) }
        try await second.drain()
        // No listing has shown the file since it was sent. A pull must not consider it deleted.
        try await second.account.pull()
        try await first.account.pull()
        #expect(first.handler.pulled() == ["modified /f: header, metadata, thumbnail, data"])
        #expect(try await fetch(first, .thumbnail) == "small")
        #expect(try await fetch(first, .metadata) == "content of /f metadata")
        try await first.commit { cloud in try cloud.move(cloud.node(at: "/f"), to: "/g") }
        try await first.drain()
        #expect(files(first) == ["home/g%payload"])
        #expect(try await fetch(first, .metadata, "/g") == "content of /f metadata")
        try await first.commit { cloud in _ = try cloud.copy(cloud.node(at: "/g"), to: "/h") }
        try await first.drain()
        #expect(try await fetch(first, .metadata, "/h") == "content of /f metadata")
        try await first.commit { cloud in try cloud.delete(cloud.node(at: "/g")) }
        try await first.drain()
        #expect(files(first) == ["home/h%payload"])
        try await second.account.pull()
        try await expectSettled(first, second)
    }
}
