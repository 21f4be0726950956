import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// A copy of a node has the metadata and the thumbnail of the original.
@Suite struct SidecarCopyTests {
    typealias Fault = @Sendable (StrictRemote.Request, Int) -> StrictRemote.Fault?

    private let scratch = DownloadTests.Scratch()

    /// A file and a folder, with all sections that they may have.
    private func harness(
        _ abilities: RemoteCapabilities = RemoteCapabilities(isLocal: true),
        encryption: ContentEncryption? = nil,
        fault: @escaping Fault = { _, _ in nil }
    ) async throws -> CloudHarness {
        let options = CloudOptions(
            encryption: encryption,
            retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)),
            cacheFolder: scratch.folder
        )
        let harness = try await CloudHarness(StrictRemote(abilities, fault: fault), options: options)
        try await harness.commit { cloud in
            try cloud.createNode(at: "/a", sections: .given)
            try cloud.upload(cloud.createFolder(at: "/f"), .metadata)
        }
        try await harness.drain()
        return harness
    }

    private func copyAll(_ harness: CloudHarness) async throws {
        try await harness.commit { cloud in
            try cloud.copy(cloud.node(at: "/a"), to: "/b")
            try cloud.copy(cloud.node(at: "/f"), to: "/g")
        }
        try await harness.drain()
    }

    private func expectCopies(_ harness: CloudHarness) async throws {
        let tree = harness.remote.tree
        for mark in ["", "%metadata", "%thumbnail"] {
            #expect(tree["home/b\(mark)"] == tree["home/a\(mark)"])
            #expect(tree["home/b\(mark)"] != nil)
        }
        #expect(tree["home/g%metadata"] == "content of /f metadata")
        #expect(try await harness.queued() == [])
        #expect(try await harness.account.pull() == PullSummary())
        await harness.account.close()
    }

    @Test("Copies have sidecars on every kind of remote", arguments: FolderSidecarTests.kinds)
    func allRemotes(_ kind: RemoteCapabilities) async throws {
        let harness = try await harness(kind)
        try await copyAll(harness)
        try await expectCopies(harness)
    }

    @Test(
        "An interrupted copy continues",
        arguments: ["home/b", "home/b%metadata", "home/b%thumbnail", "home/g%metadata"],
        [true, false]
    )
    func interruptedCopy(_ place: String, isCarriedOut: Bool) async throws {
        let once = Once()
        let harness = try await harness { request, _ in
            guard request.verb == "COPY", request.key == place, once() else { return nil }
            return isCarriedOut ? .answerLost : .before(RemoteError(.unavailable, "Not now."))
        }
        try await copyAll(harness)
        try await expectCopies(harness)
    }

    @Test("Metadata of the source that others have changed is copied")
    func editOfSource() async throws {
        let harness = try await harness()
        harness.remote.write("home/a%metadata", "theirs")
        harness.remote.write("home/a%thumbnail", nil)
        try await copyAll(harness)
        #expect(harness.remote.tree["home/b%metadata"] == "theirs")
        #expect(harness.remote.tree["home/b%thumbnail"] == nil)
        await harness.account.close()
    }

    @Test("Metadata left at the destination of a copy does not become the copy's metadata")
    func foreignMetadata() async throws {
        let harness = try await harness()
        harness.remote.write("home/b%metadata", "left")
        try await copyAll(harness)
        try await expectCopies(harness)
    }

    @Test("A copy of a file that never arrived is uploaded with all sections")
    func copyOfUnsent() async throws {
        let harness = try await harness()
        try await harness.commit { cloud in
            let node = try cloud.createNode(at: "/x", sections: [.metadata, .data])
            try cloud.copy(node, to: "/y")
            for operation in try cloud.operations(for: node) { operation.skip() }
        }
        try await harness.drain()
        #expect(harness.remote.tree["home/y%metadata"] == "content of /y metadata")
        #expect(harness.remote.tree["home/y"] == "content of /y")
        await harness.account.close()
    }

    @Test("A later upload of the copy's metadata meets no conflict")
    func laterUpload() async throws {
        let harness = try await harness()
        try await copyAll(harness)
        try await harness.commit { cloud in
            try cloud.upload(cloud.node(at: "/b"), .metadata)
            try cloud.upload(cloud.node(at: "/g"), .metadata)
        }
        try await harness.drain()
        #expect(harness.remote.tree["home/b%metadata"] == "content of /b metadata")
        #expect(harness.remote.tree["home/g%metadata"] == "content of /g metadata")
        #expect(try await harness.read { try $0.conflicts().isEmpty })
        await harness.account.close()
    }

    @Test("In an encrypted account, a copy has all sections")
    func encryptedCopy() async throws {
        let harness = try await harness(encryption: ContentEncryption(EncryptionFixture.account))
        try await copyAll(harness)
        for (path, file) in [("/a", "home/b"), ("/f", "home/g%payload")] {
            let bytes = try EncryptionFixture.open(harness.remote.bytes(file), .metadata, EncryptionFixture.keys)
            #expect(String(decoding: bytes, as: UTF8.self) == "content of \(path) metadata")
        }
        #expect(try await harness.account.pull() == PullSummary())
        await harness.account.close()
    }
}
