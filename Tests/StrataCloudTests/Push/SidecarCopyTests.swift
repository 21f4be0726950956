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
    private func stage(
        _ abilities: RemoteCapabilities = RemoteCapabilities(isLocal: true),
        sealing: ContentSealing? = nil,
        fault: @escaping Fault = { _, _ in nil }
    ) async throws -> CloudStage {
        let options = CloudOptions(
            sealing: sealing,
            retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)),
            cacheFolder: scratch.folder
        )
        let stage = try await CloudStage(StrictRemote(abilities, fault: fault), options: options)
        try await stage.commit { cloud in
            try cloud.createNode(at: "/a", sections: .given)
            try cloud.upload(cloud.createFolder(at: "/f"), .metadata)
        }
        try await stage.drain()
        return stage
    }

    private func copyAll(_ stage: CloudStage) async throws {
        try await stage.commit { cloud in
            try cloud.copy(cloud.node(at: "/a"), to: "/b")
            try cloud.copy(cloud.node(at: "/f"), to: "/g")
        }
        try await stage.drain()
    }

    private func expectCopies(_ stage: CloudStage) async throws {
        let tree = stage.remote.tree
        for mark in ["", "%metadata", "%thumbnail"] {
            #expect(tree["home/b\(mark)"] == tree["home/a\(mark)"])
            #expect(tree["home/b\(mark)"] != nil)
        }
        #expect(tree["home/g%metadata"] == "content of /f metadata")
        #expect(try await stage.queued() == [])
        #expect(try await stage.account.pull() == PullSummary())
        await stage.account.close()
    }

    @Test(arguments: FolderSidecarTests.kinds) func `on every kind of remote`(_ kind: RemoteCapabilities) async throws {
        let stage = try await stage(kind)
        try await copyAll(stage)
        try await expectCopies(stage)
    }

    @Test(arguments: ["home/b", "home/b%metadata", "home/b%thumbnail", "home/g%metadata"], [true, false])
    func `a copy that is interrupted goes on`(_ place: String, isCarriedOut: Bool) async throws {
        let once = Once()
        let stage = try await stage { request, _ in
            guard request.verb == "COPY", request.key == place, once() else { return nil }
            return isCarriedOut ? .answerLost : .before(RemoteError(.unavailable, "Not now."))
        }
        try await copyAll(stage)
        try await expectCopies(stage)
    }

    @Test func `what others have written into the metadata of the source is copied`() async throws {
        let stage = try await stage()
        stage.remote.write("home/a%metadata", "theirs")
        stage.remote.write("home/a%thumbnail", nil)
        try await copyAll(stage)
        #expect(stage.remote.tree["home/b%metadata"] == "theirs")
        #expect(stage.remote.tree["home/b%thumbnail"] == nil)
        await stage.account.close()
    }

    @Test func `what somebody left where the copy comes to lie does not become its metadata`() async throws {
        let stage = try await stage()
        stage.remote.write("home/b%metadata", "left")
        try await copyAll(stage)
        try await expectCopies(stage)
    }

    @Test func `a copy of what never arrived is sent with all sections`() async throws {
        let stage = try await stage()
        try await stage.commit { cloud in
            let node = try cloud.createNode(at: "/x", sections: [.metadata, .data])
            try cloud.copy(node, to: "/y")
            for operation in try cloud.operations(for: node) { operation.skip() }
        }
        try await stage.drain()
        #expect(stage.remote.tree["home/y%metadata"] == "content of /y metadata")
        #expect(stage.remote.tree["home/y"] == "content of /y")
        await stage.account.close()
    }

    @Test func `a later upload of the copy's metadata meets no conflict`() async throws {
        let stage = try await stage()
        try await copyAll(stage)
        try await stage.commit { cloud in
            try cloud.upload(cloud.node(at: "/b"), .metadata)
            try cloud.upload(cloud.node(at: "/g"), .metadata)
        }
        try await stage.drain()
        #expect(stage.remote.tree["home/b%metadata"] == "content of /b metadata")
        #expect(stage.remote.tree["home/g%metadata"] == "content of /g metadata")
        #expect(try await stage.read { try $0.conflicts().isEmpty })
        await stage.account.close()
    }

    @Test func `in an encrypted account a copy holds all sections`() async throws {
        let stage = try await stage(sealing: ContentSealing(SealedWorld.account))
        try await copyAll(stage)
        for (path, file) in [("/a", "home/b"), ("/f", "home/g%payload")] {
            let bytes = try SealedWorld.open(stage.remote.bytes(file), .metadata, SealedWorld.keys)
            #expect(String(decoding: bytes, as: UTF8.self) == "content of \(path) metadata")
        }
        #expect(try await stage.account.pull() == PullSummary())
        await stage.account.close()
    }
}
