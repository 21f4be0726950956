import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// Uploads that fail permanently, and uploads without content.
@Suite struct FailedUploadTests {
    @Test("Uploading a node again also retries its failed operations")
    func retriedFailure() async throws {
        let isRefusing = Flag()
        let remote = StrictRemote { request, _ in
            isRefusing.isOn && request.key.hasSuffix("/file") ? .before(RemoteError(.invalidKey, "Not now.")) : nil
        }
        let harness = try await CloudHarness(remote)
        let node = try await harness.commit { cloud in
            try cloud.createNode(at: "/other")
            return try cloud.createNode(at: "/file").id
        }
        try await harness.drain()
        let failed = OperationStatus.failed
        #expect(try await harness.statuses() == [failed])
        // The remote still refuses: the operation is tried again, and fails again.
        #expect(harness.asked("/file") == 1)
        for count in 2...4 {
            try await harness.commit { cloud in _ = try cloud.upload(#require(try cloud.context.find(node))) }
            try await harness.drain()
            #expect(try await harness.statuses().first == failed)
            #expect(harness.asked("/file") == count)
        }
        // An upload of another node does not retry this one.
        try await harness.commit { cloud in _ = try cloud.upload(cloud.node(at: "/other")) }
        try await harness.drain()
        #expect(try await harness.statuses().first == failed)
        #expect(harness.asked("/file") == 4 && harness.asked("/other") == 2)
        #expect(remote.tree.keys.sorted() == ["home/", "home/other"])

        isRefusing.isOn = false
        harness.handler.set("newest", of: node)
        try await harness.commit { cloud in _ = try cloud.upload(#require(try cloud.context.find(node))) }
        try await harness.drain()
        #expect(try await harness.queued() == [])
        #expect(remote.tree.keys.sorted() == ["home/", "home/file", "home/other"])
        #expect(remote.tree["home/file"] == "newest")
        // The waiting uploads became one upload.
        #expect(harness.handler.state.withLock { $0.uploaded.count { $0 == "data of /file" } } == 1)
        await harness.account.close()
    }

    @Test("If the handler gives no content, nothing is uploaded, and the handler gets no report")
    func noContent() async throws {
        let remote = StrictRemote()
        let harness = try await CloudHarness(remote)
        let node = try await harness.commit { try $0.createNode(at: "/empty").id }
        harness.handler.set([:], of: node)
        try await harness.drain()
        #expect(try await harness.queued() == [])
        #expect(harness.handler.state.withLock { $0.asked } == ["data of /empty"])
        #expect(harness.handler.state.withLock { $0.uploaded } == [])
        #expect(remote.tree.keys.contains("home/empty") == false)
        // A file that another machine puts there belongs to that machine, and a pull brings it here.
        harness.remote.write("home/empty", "theirs")
        _ = try await harness.account.pull()
        #expect(harness.handler.pulled().contains("new /empty"))
        await harness.account.close()
    }
}

private final class Flag: Sendable {
    private let state = Mutex(true)
    var isOn: Bool {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

extension CloudHarness {
    /// The number of times that the handler was asked for the data of a file.
    fileprivate func asked(_ path: String) -> Int {
        handler.state.withLock { $0.asked.count { $0 == "data of \(path)" } }
    }

    fileprivate func statuses() async throws -> [OperationStatus] {
        try await stack.background { try $0.fetch(QueuedOperation.all.sorted { $0.commit }).map(\.status) }
    }
}
