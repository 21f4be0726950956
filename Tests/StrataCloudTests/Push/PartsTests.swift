import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// Large uploads are sent in parts, and no part that has arrived is sent again.
@Suite struct PartsTests {
    private static let abilities = RemoteCapabilities(minimumPartSize: 4, isLocal: true)

    /// - Parameter atOnce: the number of parts in flight. With one, the order of the parts is known.
    private func stage(
        _ abilities: RemoteCapabilities = abilities,
        atOnce: Int = 1,
        fault: @escaping @Sendable (StrictRemote.Request, Int) -> StrictRemote.Fault? = { _, _ in nil }
    ) async throws -> CloudStage {
        try await CloudStage(
            StrictRemote(abilities, fault: fault),
            options: CloudOptions(
                retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)),
                partSize: 5,
                maxConcurrentParts: atOnce
            )
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
        // Some remotes have kept parts in spite of the completion, so the account aborts the upload.
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
            options: CloudOptions(
                retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)),
                partSize: 5,
                maxConcurrentParts: 1
            )
        )
        try await make(stage, "1234567890")
        try await stage.drain()
        #expect(
            verbs(stage) == ["BEGIN", "PART 1", "PART 2", "ABORT", "BEGIN", "PART 1", "PART 2", "PART 3", "COMPLETE"]
        )
        #expect(stage.remote.tree["home/n"] == "abcdefghijkl")
    }

    // MARK: Several at once

    @Test func `so many parts are on their way at once as may be`() async throws {
        let gate = Gate()
        let stage = try await stage(atOnce: 3) { request, _ in request.verb.hasPrefix("PART") ? .gate(gate) : nil }
        try await make(stage, "12345678901234567890")
        async let isDrained = stage.drain()
        while verbs(stage).count < 4 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(verbs(stage).first == "BEGIN" && Set(verbs(stage).dropFirst()) == ["PART 1", "PART 2", "PART 3"])
        gate.open()
        #expect(try await isDrained)
        #expect(verbs(stage).suffix(2) == ["PART 4", "COMPLETE"])
        #expect(stage.remote.state.withLock { $0.mostRunning } == 3)
        #expect(stage.remote.tree["home/n"] == "12345678901234567890")
        await stage.account.close()
    }

    @Test func `parts that arrive beside one that fails are not sent again, and count as sent`() async throws {
        let isCut = Switch()
        let gate = Gate()
        let stage = try await stage(atOnce: 4) { request, _ in
            guard request.verb == "PART 2" else { return nil }
            return isCut.isOn ? .before(RemoteError(.unauthorized, "Who?")) : .gate(gate)
        }
        try await make(stage, "12345678901234567890")
        try await stage.drain()
        #expect(Set(verbs(stage)) == ["BEGIN", "PART 1", "PART 2", "PART 3", "PART 4"])
        let parts = try await stage.stack.background { try $0.fetch(PartialUpload.all).map(\.parts) }
        #expect(parts.count == 1 && parts.first?.map(\.isEmpty) == [false, true, false, false])
        await stage.account.close()
        isCut.turnOff()
        let again = try await CloudStage(
            stage.remote,
            handler: stage.handler,
            stack: stage.stack,
            options: CloudOptions(partSize: 7)
        )
        try await again.account.credentialsChanged()
        async let isDrained = again.drain()
        while verbs(again).count < 6 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(try await again.account.progress().uploads.description == "0 of 1 files, 20 of 20 bytes")
        gate.open()
        #expect(try await isDrained)
        #expect(verbs(again).suffix(2) == ["PART 2", "COMPLETE"] && verbs(again).count == 7)
        #expect(again.remote.tree["home/n"] == "12345678901234567890")
        #expect(try await again.account.progress().uploads.description == "1 of 1 files, 20 of 20 bytes")
        await again.account.close()
    }

    @Test func `parts are larger where the remote takes only so many`() async throws {
        let few = RemoteCapabilities(minimumPartSize: 4, maximumPartCount: 3, isLocal: true)
        let stage = try await stage(few)
        try await make(stage, "12345678901234567890")
        try await stage.drain()
        #expect(verbs(stage) == ["BEGIN", "PART 1", "PART 2", "PART 3", "COMPLETE"])
        #expect(stage.remote.tree["home/n"] == "12345678901234567890")
        await stage.account.close()
    }

    // MARK: Abandoned uploads

    /// A stage with a waiting upload whose first part has arrived.
    private func begun(_ isCut: Switch = Switch()) async throws -> CloudStage {
        let stage = try await stage { request, _ in
            request.verb == "PART 2" && isCut.isOn ? .before(RemoteError(.unauthorized, "Who?")) : nil
        }
        try await make(stage, "1234567890")
        try await stage.drain()
        try await expect(1, at: stage)
        return stage
    }

    /// Expects `count` multipart uploads, both at the remote and in the store.
    private func expect(
        _ count: Int,
        at stage: CloudStage,
        account: CloudAccount? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        await (account ?? stage.account).pusher.abandoned.settle()
        #expect(stage.remote.state.withLock { $0.uploads.count } == count, sourceLocation: sourceLocation)
        let rows = try await stage.stack.background { try $0.count(PartialUpload.all) }
        #expect(rows == count, sourceLocation: sourceLocation)
    }

    private func skip(_ stage: CloudStage) async throws {
        try await stage.stack.background { context in
            for operation in try context.fetch(QueuedOperation.all) { operation.skip() }
            try context.commit()
        }
    }

    @Test func `a delete gives up what was begun`() async throws {
        let stage = try await begun()
        try await stage.commit { try $0.delete($0.node(at: "/n")) }
        try await stage.drain()
        try await expect(0, at: stage)
    }

    @Test(arguments: ["tiny", nil])
    func `content that has become small, or is none any more, gives up what was begun`(text: String?) async throws {
        let stage = try await begun()
        let node = try await stage.read { try $0.node(at: "/n").id }
        if let text { stage.handler.set(text, of: node) } else { stage.handler.set([:], of: node) }
        try await stage.account.credentialsChanged()
        try await stage.drain()
        try await expect(0, at: stage)
        #expect(stage.remote.tree["home/n"] == text)
    }

    @Test func `content that is sent as a whole, since parts are larger now, gives up what was begun`() async throws {
        let stage = try await begun()
        await stage.account.close()
        let again = try await CloudStage(
            stage.remote,
            handler: stage.handler,
            stack: stage.stack,
            options: CloudOptions(partSize: 100)
        )
        try await again.account.credentialsChanged()
        try await again.drain()
        try await expect(0, at: again)
        #expect(stage.remote.tree["home/n"] == "1234567890")
        await again.account.close()
    }

    @Test func `an upload that is left out gives up what was begun`() async throws {
        let stage = try await begun()
        try await skip(stage)
        try await expect(0, at: stage)
    }

    @Test func `an upload that waits keeps what was begun, whatever else ends`() async throws {
        let isCut = Switch()
        let stage = try await begun(isCut)
        try await stage.commit { cloud in stage.handler.set("small", of: try cloud.createNode(at: "/small").id) }
        try await stage.drain()
        try await expect(1, at: stage)
        isCut.turnOff()
        try await stage.account.credentialsChanged()
        try await stage.drain()
        #expect(verbs(stage).suffix(2) == ["PART 2", "COMPLETE"])
        try await expect(0, at: stage)
    }

    @Test func `the next opening gives up what was left out meanwhile`() async throws {
        let stage = try await begun()
        await stage.account.close()
        try await skip(stage)
        try await expect(1, at: stage)
        let again = try await CloudStage(stage.remote, handler: stage.handler, stack: stage.stack)
        try await expect(0, at: again)
        await again.account.close()
    }

    @Test func `what cannot be given up is given up when the remote can be reached again`() async throws {
        let isAway = Switch()
        let network = ManualConstraint("network", isSatisfied: true)
        let stage = try await CloudStage(
            StrictRemote(Self.abilities) { request, _ in
                switch request.verb {
                case "PART 2": .before(RemoteError(.unauthorized, "Who?"))
                case "ABORT" where isAway.isOn: .before(RemoteError(.unreachable, "Away."))
                default: nil
                }
            },
            options: CloudOptions(reachability: network, partSize: 5, maxConcurrentParts: 1)
        )
        try await make(stage, "1234567890")
        try await stage.drain()
        network.set(false)
        try await skip(stage)
        try await expect(1, at: stage)
        isAway.turnOff()
        network.set(true)
        try await expect(0, at: stage)
        await stage.account.close()
    }

    @Test func `an upload that is queued and left out while another one is being given up leaves nothing`() async throws
    {
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let gate = Gate()
        let stage = try await stage { request, _ in
            switch request.verb {
            case "PART 2": return .before(RemoteError(.unauthorized, "Who?"))
            case "ABORT":
                hasBegun.yield()
                return .gate(gate)
            default: return nil
            }
        }
        try await make(stage, "1234567890")
        try await stage.drain()
        try await skip(stage)
        for await _ in begun { break }
        try await stage.commit { cloud in _ = try cloud.upload(cloud.node(at: "/n")) }
        gate.open()
        await stage.account.pusher.abandoned.settle()
        // The new upload may continue the multipart upload.
        #expect(try await stage.stack.background { try $0.count(PartialUpload.all) } == 1)
        try await skip(stage)
        try await expect(0, at: stage)
    }

    @Test(arguments: [ConflictResolution.mine, .theirs, .both])
    func `a conflict keeps what was begun only where it is sent`(resolution: ConflictResolution) async throws {
        let stage = try await stage()
        try await make(stage, "old")
        try await stage.drain()
        let node = try await stage.read { try $0.node(at: "/n").id }
        stage.remote.write("home/n", "of somebody else")
        stage.handler.set("1234567890", of: node)
        try await stage.commit { cloud in _ = try cloud.upload(cloud.node(at: "/n")) }
        try await stage.drain()
        try await expect(1, at: stage)
        try await stage.commit { cloud in
            for conflict in try cloud.conflicts() { try cloud.resolve(conflict, resolution) }
        }
        try await expect(resolution == .mine ? 1 : 0, at: stage)
        try await stage.drain()
        try await expect(0, at: stage)
        #expect(stage.remote.tree["home/n"] == (resolution == .mine ? "1234567890" : "of somebody else"))
    }
}

/// A switch that is on until a test turns it off.
private final class Switch: Sendable {
    private let state = Atomic(true)

    var isOn: Bool { state.load(ordering: .acquiring) }

    func turnOff() { state.store(false, ordering: .releasing) }
}
