import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// Large uploads go in parts, and no part that has arrived is sent again.
@Suite struct PartsTests {
    private static let abilities = RemoteCapabilities(minimumPartSize: 4, isLocal: true)

    private func stage(
        fault: @escaping @Sendable (StrictRemote.Request, Int) -> StrictRemote.Fault? = { _, _ in nil }
    ) async throws -> CloudStage {
        try await CloudStage(
            StrictRemote(Self.abilities, fault: fault),
            retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)),
            partSize: 5
        )
    }

    private func make(_ stage: CloudStage, _ text: String) async throws {
        try await stage.commit { cloud in
            let node = try cloud.createNode(at: "/n")
            stage.handler.set(text, of: node.id)
        }
    }

    private func verbs(_ stage: CloudStage) -> [String] {
        stage.remote.requests.map(\.verb).filter { $0 != "MKCOL" && $0 != "HEAD" && $0 != "GET" }
    }

    @Test(arguments: [("123456789", ["PUT"]), ("1234567890", ["BEGIN", "PART 1", "PART 2", "COMPLETE"])])
    func `what has two parts or more goes in parts`(text: String, expected: [String]) async throws {
        let stage = try await stage()
        try await make(stage, text)
        try await stage.drain()
        #expect(verbs(stage) == expected)
        #expect(stage.remote.tree["home/n"] == text)
        #expect(try await stage.read { try $0.context.count(PartialUpload.all) } == 0)
    }

    @Test func `an upload that breaks off goes on behind the parts that have arrived`() async throws {
        let faults = Mutex(3)
        let stage = try await stage { request, _ in
            guard request.verb == "PART 3",
                faults.withLock({
                    $0 -= 1; return $0 >= 0
                })
            else { return nil }
            return .before(RemoteError(.answerLost, "Cut."))
        }
        try await make(stage, "12345678901234567890")
        try await stage.drain()
        #expect(
            verbs(stage) == ["BEGIN", "PART 1", "PART 2", "PART 3", "PART 3", "PART 3", "PART 3", "PART 4", "COMPLETE"]
        )
        #expect(stage.remote.tree["home/n"] == "12345678901234567890")
    }

    @Test func `an upload whose completion was not answered is recognised`() async throws {
        let isFirst = Mutex(true)
        let stage = try await stage { request, _ in
            guard request.verb == "COMPLETE",
                isFirst.withLock({ first in
                    defer { first = false }; return first
                })
            else { return nil }
            return .answerLost
        }
        try await make(stage, "1234567890")
        try await stage.drain()
        // Some remotes have kept parts of it all the same.
        #expect(verbs(stage) == ["BEGIN", "PART 1", "PART 2", "COMPLETE", "COMPLETE", "ABORT"])
        #expect(stage.remote.tree["home/n"] == "1234567890")
        #expect(try await stage.read { try $0.conflicts().isEmpty && $0.context.count(PartialUpload.all) == 0 })
    }

    @Test func `content that has changed meanwhile begins anew, and the old parts are given up`() async throws {
        let handler = TestHandler()
        let isFirst = Mutex(true)
        let stage = try await CloudStage(
            StrictRemote(Self.abilities) { request, _ in
                guard request.verb == "PART 2",
                    isFirst.withLock({ first in
                        defer { first = false }; return first
                    })
                else { return nil }
                handler.state.withLock { state in for key in state.texts.keys { state.texts[key] = "abcdefghijkl" } }
                return .before(RemoteError(.answerLost, "Cut."))
            },
            handler: handler,
            retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)),
            partSize: 5
        )
        try await make(stage, "1234567890")
        try await stage.drain()
        #expect(
            verbs(stage) == ["BEGIN", "PART 1", "PART 2", "ABORT", "BEGIN", "PART 1", "PART 2", "PART 3", "COMPLETE"]
        )
        #expect(stage.remote.tree["home/n"] == "abcdefghijkl")
    }

    @Test func `a delete gives up what was begun`() async throws {
        let stage = try await stage { request, _ in
            request.verb == "PART 2" ? .before(RemoteError(.unauthorized, "Who?")) : nil
        }
        try await make(stage, "1234567890")
        try await stage.drain()
        #expect(stage.remote.state.withLock { $0.uploads.count } == 1)
        try await stage.commit { try $0.delete($0.node(at: "/n")) }
        try await stage.drain()
        #expect(stage.remote.state.withLock { $0.uploads.count } == 0)
        #expect(try await stage.read { try $0.context.count(PartialUpload.all) } == 0)
    }
}
