import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

@Suite("N6 copies by way of this machine") struct CopyTests {
    @Test func `what others have written into the source is recognised behind a lost answer`() async throws {
        let isFirst = Mutex(true)
        let remote = StrictRemote(RemoteCapabilities(copies: false, moves: false, isLocal: true)) { request, _ in
            guard request.verb == "DELETE", request.key == "home/b" else { return nil }
            return isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst ? .answerLost : nil
            }
        }
        let stage = try await CloudStage(
            remote,
            options: CloudOptions(retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)))
        )
        try await stage.commit { _ = try $0.createNode(at: "/a") }
        try await stage.drain()
        // As long as what was there, and of another version.
        remote.write("home/a", "theirs of /a.")
        try await stage.commit { cloud in
            let copy = try cloud.copy(cloud.node(at: "/a"), to: "/b")
            try cloud.move(copy, to: "/c")
        }
        try await stage.drain()
        #expect(remote.tree == ["home/": "", "home/a": "theirs of /a.", "home/c": "theirs of /a."])
        #expect(try await stage.queued() == [])
        await stage.account.close()
    }
}
