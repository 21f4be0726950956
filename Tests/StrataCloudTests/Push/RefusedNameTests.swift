import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

@Suite struct RefusedNameTests {
    @Test func `what the remote has no name for can be deleted again`() async throws {
        let remote = StrictRemote { request, _ in
            request.key.contains("bad") ? .before(RemoteError(.invalidKey, "The name is too long.")) : nil
        }
        let stage = try await CloudStage(remote)
        try await stage.commit { cloud in
            try cloud.createNode(at: "/bad")
            try cloud.createNode(at: "/good")
        }
        try await stage.drain()
        #expect(try await stage.stack.background { try $0.count(QueuedOperation.where { $0.status == .failed }) } == 1)
        try await stage.commit { try $0.delete($0.node(at: "/bad")) }
        try await stage.drain()
        #expect(try await stage.queued() == [])
        #expect(remote.tree.keys.sorted() == ["home/", "home/good"])
    }
}
