import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// Uploads that fail permanently, and uploads without content.
@Suite struct FailedUploadTests {
    @Test func `M11 who sends a node once more has what has failed for it tried again`() async throws {
        let isRefusing = Flag()
        let remote = StrictRemote { request, _ in
            isRefusing.isOn && request.key.hasSuffix("/file") ? .before(RemoteError(.invalidKey, "Not now.")) : nil
        }
        let stage = try await CloudStage(remote)
        let node = try await stage.commit { cloud in
            try cloud.createNode(at: "/other")
            return try cloud.createNode(at: "/file").id
        }
        try await stage.drain()
        let failed = OperationStatus.failed
        #expect(try await stage.statuses() == [failed])
        // The remote still refuses: the operation is tried again, and fails again.
        #expect(stage.asked("/file") == 1)
        for count in 2...4 {
            try await stage.commit { cloud in _ = try cloud.upload(#require(try cloud.context.find(node))) }
            try await stage.drain()
            #expect(try await stage.statuses().first == failed)
            #expect(stage.asked("/file") == count)
        }
        // An upload of another node does not retry this one.
        try await stage.commit { cloud in _ = try cloud.upload(cloud.node(at: "/other")) }
        try await stage.drain()
        #expect(try await stage.statuses().first == failed)
        #expect(stage.asked("/file") == 4 && stage.asked("/other") == 2)
        #expect(remote.tree.keys.sorted() == ["home/", "home/other"])

        isRefusing.isOn = false
        stage.handler.set("newest", of: node)
        try await stage.commit { cloud in _ = try cloud.upload(#require(try cloud.context.find(node))) }
        try await stage.drain()
        #expect(try await stage.queued() == [])
        #expect(remote.tree.keys.sorted() == ["home/", "home/file", "home/other"])
        #expect(remote.tree["home/file"] == "newest")
        // The waiting uploads became one upload.
        #expect(stage.handler.state.withLock { $0.uploaded.count { $0 == "data of /file" } } == 1)
        await stage.account.close()
    }

    @Test func `where the handler gives nothing, nothing is sent, and it is not told of an upload`() async throws {
        let remote = StrictRemote()
        let stage = try await CloudStage(remote)
        let node = try await stage.commit { try $0.createNode(at: "/empty").id }
        stage.handler.set([:], of: node)
        try await stage.drain()
        #expect(try await stage.queued() == [])
        #expect(stage.handler.state.withLock { $0.asked } == ["data of /empty"])
        #expect(stage.handler.state.withLock { $0.uploaded } == [])
        #expect(remote.tree.keys.contains("home/empty") == false)
        // A file that another machine puts there belongs to that machine, and a pull brings it here.
        stage.remote.write("home/empty", "theirs")
        _ = try await stage.account.pull()
        #expect(stage.handler.pulled().contains("new /empty"))
        await stage.account.close()
    }

    @Test func `where a remote keeps records, one that has failed is tried again as well`() async throws {
        let isRefusing = Flag()
        let remote = StrictRemote(RemoteCapabilities(keepsRecords: true, isLocal: true)) { request, _ in
            isRefusing.isOn && request.key.contains("/file") ? .before(RemoteError(.invalidKey, "Not now.")) : nil
        }
        let stage = try await CloudStage(remote)
        let node = try await stage.commit { try $0.createNode(at: "/file").id }
        try await stage.drain()
        #expect(try await stage.statuses().contains(.failed))
        isRefusing.isOn = false
        try await stage.commit { cloud in _ = try cloud.upload(#require(try cloud.context.find(node))) }
        try await stage.drain()
        #expect(try await stage.queued() == [])
        #expect(remote.tree.keys.contains("home/file"))
        await stage.account.close()
    }
}

private final class Flag: Sendable {
    private let state = Mutex(true)
    var isOn: Bool {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

extension CloudStage {
    /// The number of times that the handler was asked for the data of a file.
    fileprivate func asked(_ path: String) -> Int {
        handler.state.withLock { $0.asked.count { $0 == "data of \(path)" } }
    }

    fileprivate func statuses() async throws -> [OperationStatus] {
        try await stack.background { try $0.fetch(QueuedOperation.all.sorted { $0.commit }).map(\.status) }
    }
}
