import Foundation
import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

/// The metadata and thumbnails of a node are protected against overwriting as its content is.
@Suite struct SidecarTests {
    private static let path = "home/n%metadata"

    /// Two machines with one remote. The first has made a file with metadata.
    private func machines() async throws -> (SealedStage, SealedStage) {
        let first = try await SealedStage(
            sealing: nil,
            sections: [.metadata: Data("old".utf8), .data: Data("data".utf8)]
        )
        return (first, try await SealedStage.other(of: first, sealing: nil))
    }

    @Test(arguments: [ConflictResolution.mine, .theirs])
    func `metadata that others have written is a conflict`(_ resolution: ConflictResolution) async throws {
        let (first, second) = try await machines()
        first.handler.set([.metadata: Data("theirs".utf8)], of: first.node)
        try await first.upload(.metadata)
        second.handler.set([.metadata: Data("ours".utf8), .data: Data("changed".utf8)], of: second.node)
        try await second.upload([.metadata, .data])
        #expect(second.remote.tree[Self.path] == "theirs")
        // The data has already arrived, and later does not conflict with itself.
        #expect(second.remote.tree["home/n"] == "changed")
        #expect(try await second.stage.read { try $0.conflicts().map(\.section) } == [.metadata])
        try await second.stage.commit { cloud in
            for conflict in try cloud.conflicts() { try cloud.resolve(conflict, resolution) }
        }
        try await second.stage.drain()
        switch resolution {
        case .mine: #expect(second.remote.tree[Self.path] == "ours")
        default:
            #expect(second.remote.tree[Self.path] == "theirs")
            #expect(try await second.stage.read { try $0.markedSections(of: $0.node(at: "/n")).contains(.metadata) })
        }
        #expect(
            try await second.stage.read { try $0.conflicts().isEmpty && $0.context.count(QueuedOperation.all) == 0 }
        )
        await first.close()
        await second.close()
    }

    @Test func `of metadata that others have written as well, both files have the data`() async throws {
        let (first, second) = try await machines()
        first.handler.set([.metadata: Data("theirs".utf8)], of: first.node)
        try await first.upload(.metadata)
        second.handler.set([.metadata: Data("ours".utf8)], of: second.node)
        try await second.upload(.metadata)
        // This machine does not have the data.
        second.handler.everyNode.withLock { $0 = [.metadata: Data("ours".utf8)] }
        try await second.stage.commit { cloud in
            for conflict in try cloud.conflicts() { try cloud.resolve(conflict, .both) }
        }
        try await second.stage.drain()
        #expect(
            second.remote.tree == [
                "home/": "", "home/n": "data", Self.path: "theirs", "home/n 2": "data", "home/n 2%metadata": "ours",
            ]
        )
        #expect(try await second.stage.queued() == [])
        await first.close()
        await second.close()
    }

    @Test func `what a handler throws is no answer of the remote, so that the mark stays`() async throws {
        let (first, other) = try await machines()
        await other.close()
        let second = try await SealedStage.other(of: first, sealing: nil, download: .all)
        second.handler.state.withLock { $0.refusal = RemoteError(.notFound, "what the handler wants is not there") }
        try await second.stage.commit { try $0.markNeedsDownload($0.node(at: "/n"), .metadata) }
        let error = try await #require(throws: CloudError.self) { try await second.stage.account.downloadMarked() }
        #expect(error.code == .downloadsFailed)
        #expect(second.handler.state.withLock(\.refused) > 0)
        let marked = try await second.stage.read { try $0.markedSections(of: $0.node(at: "/n")) }
        #expect(marked.contains(.metadata))
        await first.close()
        await second.close()
    }

    @Test func `metadata whose answer was lost is recognised, also when it has changed since`() async throws {
        let handler = TestHandler()
        let once = Once()
        let remote = StrictRemote { request, _ in
            guard request.verb == "PUT", request.key == Self.path, once() else { return nil }
            handler.state.withLock { state in
                for node in state.sections.keys { state.sections[node]?[.metadata] = Data("newer".utf8) }
            }
            return .answerLost
        }
        let machine = try await SealedStage(
            remote,
            sealing: nil,
            handler: handler,
            sections: [.metadata: Data("old".utf8), .data: Data("data".utf8)]
        )
        #expect(remote.tree[Self.path] == "newer")
        #expect(try await machine.stage.read { try $0.conflicts().isEmpty })
        #expect(try await machine.stage.read { try $0.node(at: "/n").remote?.sending } == [])
        await machine.close()
    }

    @Test func `what was left behind beside a place goes, when something new comes there`() async throws {
        let remote = StrictRemote()
        remote.folder("home")
        remote.write(Self.path, "left")
        let machine = try await SealedStage(
            remote,
            sealing: nil,
            sections: [.metadata: Data("new".utf8), .data: Data("data".utf8)]
        )
        #expect(remote.tree[Self.path] == "new")
        #expect(try await machine.stage.read { try $0.conflicts().isEmpty })
        await machine.close()
    }
}
