import Foundation
import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

/// The metadata and thumbnails of a node are protected against overwriting as its content is.
@Suite struct SidecarTests {
    private static let path = "home/n%metadata"

    /// Two machines with one remote. The first has made a file with metadata.
    private func machines() async throws -> (EncryptedAccountHarness, EncryptedAccountHarness) {
        let first = try await EncryptedAccountHarness(
            encryption: nil,
            sections: [.metadata: Data("old".utf8), .data: Data("data".utf8)]
        )
        return (first, try await EncryptedAccountHarness.other(of: first, encryption: nil))
    }

    @Test("Metadata that others have written is a conflict", arguments: [ConflictResolution.mine, .theirs])
    func metadataConflict(_ resolution: ConflictResolution) async throws {
        let (first, second) = try await machines()
        first.handler.set([.metadata: Data("theirs".utf8)], of: first.node)
        try await first.upload(.metadata)
        second.handler.set([.metadata: Data("ours".utf8), .data: Data("changed".utf8)], of: second.node)
        try await second.upload([.metadata, .data])
        #expect(second.remote.tree[Self.path] == "theirs")
        // The data has already arrived, and later does not conflict with itself.
        #expect(second.remote.tree["home/n"] == "changed")
        #expect(try await second.harness.read { try $0.conflicts().map(\.section) } == [.metadata])
        try await second.harness.commit { cloud in
            for conflict in try cloud.conflicts() { try cloud.resolve(conflict, resolution) }
        }
        try await second.harness.drain()
        switch resolution {
        case .mine: #expect(second.remote.tree[Self.path] == "ours")
        default:
            #expect(second.remote.tree[Self.path] == "theirs")
            #expect(try await second.harness.read { try $0.markedSections(of: $0.node(at: "/n")).contains(.metadata) })
        }
        #expect(
            try await second.harness.read { try $0.conflicts().isEmpty && $0.context.count(QueuedOperation.all) == 0 }
        )
        await first.close()
        await second.close()
    }

    @Test("In a conflict about metadata, both files have the data")
    func conflictKeepsData() async throws {
        let (first, second) = try await machines()
        first.handler.set([.metadata: Data("theirs".utf8)], of: first.node)
        try await first.upload(.metadata)
        second.handler.set([.metadata: Data("ours".utf8)], of: second.node)
        try await second.upload(.metadata)
        // This machine does not have the data.
        second.handler.everyNode.withLock { $0 = [.metadata: Data("ours".utf8)] }
        try await second.harness.commit { cloud in
            for conflict in try cloud.conflicts() { try cloud.resolve(conflict, .both) }
        }
        try await second.harness.drain()
        #expect(
            second.remote.tree == [
                "home/": "", "home/n": "data", Self.path: "theirs", "home/n 2": "data", "home/n 2%metadata": "ours",
            ]
        )
        #expect(try await second.harness.queued() == [])
        await first.close()
        await second.close()
    }

    @Test("An error of the handler is not an answer of the remote, so the mark stays")
    func handlerError() async throws {
        let (first, other) = try await machines()
        await other.close()
        let second = try await EncryptedAccountHarness.other(of: first, encryption: nil, download: .all)
        second.handler.state.withLock { $0.refusal = RemoteError(.notFound, "what the handler wants is not there") }
        try await second.harness.commit { try $0.markNeedsDownload($0.node(at: "/n"), .metadata) }
        let error = try await #require(throws: CloudError.self) { try await second.harness.account.downloadMarked() }
        #expect(error.code == .downloadsFailed)
        #expect(second.handler.state.withLock(\.refused) > 0)
        let marked = try await second.harness.read { try $0.markedSections(of: $0.node(at: "/n")) }
        #expect(marked.contains(.metadata))
        await first.close()
        await second.close()
    }

    @Test("Metadata whose answer was lost is recognized, also after a later change")
    func lostAnswer() async throws {
        let handler = TestHandler()
        let once = Once()
        let remote = StrictRemote { request, _ in
            guard request.verb == "PUT", request.key == Self.path, once() else { return nil }
            handler.state.withLock { state in
                for node in state.sections.keys { state.sections[node]?[.metadata] = Data("newer".utf8) }
            }
            return .answerLost
        }
        let machine = try await EncryptedAccountHarness(
            remote,
            encryption: nil,
            handler: handler,
            sections: [.metadata: Data("old".utf8), .data: Data("data".utf8)]
        )
        #expect(remote.tree[Self.path] == "newer")
        #expect(try await machine.harness.read { try $0.conflicts().isEmpty })
        #expect(try await machine.harness.read { try $0.node(at: "/n").remote?.sending } == [])
        await machine.close()
    }

    @Test("Sidecars left at a place are removed when a new node takes the place")
    func leftovers() async throws {
        let remote = StrictRemote()
        remote.folder("home")
        remote.write(Self.path, "left")
        let machine = try await EncryptedAccountHarness(
            remote,
            encryption: nil,
            sections: [.metadata: Data("new".utf8), .data: Data("data".utf8)]
        )
        #expect(remote.tree[Self.path] == "new")
        #expect(try await machine.harness.read { try $0.conflicts().isEmpty })
        await machine.close()
    }
}
