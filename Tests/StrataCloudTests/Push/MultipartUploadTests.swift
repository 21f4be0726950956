import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// Large uploads are sent in parts, and no part that has arrived is sent again.
@Suite struct MultipartUploadTests {
    private static let abilities = RemoteCapabilities(minimumPartSize: 4, isLocal: true)

    /// - Parameter atOnce: the number of parts in flight. With one, the order of the parts is known.
    private func harness(
        _ abilities: RemoteCapabilities = abilities,
        atOnce: Int = 1,
        fault: @escaping @Sendable (StrictRemote.Request, Int) -> StrictRemote.Fault? = { _, _ in nil }
    ) async throws -> CloudHarness {
        try await CloudHarness(
            StrictRemote(abilities, fault: fault),
            options: CloudOptions(
                retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)),
                partSize: 5,
                maxConcurrentParts: atOnce
            )
        )
    }

    private func make(_ harness: CloudHarness, _ text: String) async throws {
        try await harness.commit { cloud in
            let node = try cloud.createNode(at: "/n")
            harness.handler.set(text, of: node.id)
        }
    }

    private func verbs(_ harness: CloudHarness) -> [String] {
        harness.remote.requests.map(\.verb).filter { $0 != "MKCOL" && $0 != "HEAD" && $0 != "GET" }
    }

    @Test(
        "Content of two or more parts is uploaded in parts",
        arguments: [("123456789", ["PUT"]), ("1234567890", ["BEGIN", "PART 1", "PART 2", "COMPLETE"])]
    )
    func threshold(text: String, expected: [String]) async throws {
        let harness = try await harness()
        try await make(harness, text)
        try await harness.drain()
        #expect(verbs(harness) == expected)
        #expect(harness.remote.tree["home/n"] == text)
        #expect(try await harness.read { try $0.context.count(PartialUpload.all) } == 0)
    }

    @Test("An interrupted upload continues after the parts that have arrived")
    func resumedUpload() async throws {
        let faults = Mutex(3)
        let harness = try await harness { request, _ in
            guard request.verb == "PART 3",
                faults.withLock({
                    $0 -= 1; return $0 >= 0
                })
            else { return nil }
            return .before(RemoteError(.answerLost, "Cut."))
        }
        try await make(harness, "12345678901234567890")
        try await harness.drain()
        #expect(
            verbs(harness) == [
                "BEGIN", "PART 1", "PART 2", "PART 3", "PART 3", "PART 3", "PART 3", "PART 4", "COMPLETE",
            ]
        )
        #expect(harness.remote.tree["home/n"] == "12345678901234567890")
    }

    @Test("An upload whose completion got no answer is recognized")
    func completionWithoutAnswer() async throws {
        let isFirst = Mutex(true)
        let harness = try await harness { request, _ in
            guard request.verb == "COMPLETE",
                isFirst.withLock({ first in
                    defer { first = false }; return first
                })
            else { return nil }
            return .answerLost
        }
        try await make(harness, "1234567890")
        try await harness.drain()
        // Some remotes have kept parts in spite of the completion, so the account aborts the upload.
        #expect(verbs(harness) == ["BEGIN", "PART 1", "PART 2", "COMPLETE", "COMPLETE", "ABORT"])
        #expect(harness.remote.tree["home/n"] == "1234567890")
        #expect(try await harness.read { try $0.conflicts().isEmpty && $0.context.count(PartialUpload.all) == 0 })
    }

    @Test("Content that has changed in between starts over, and the old parts are abandoned")
    func changedContent() async throws {
        let handler = TestHandler()
        let isFirst = Mutex(true)
        let harness = try await CloudHarness(
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
        try await make(harness, "1234567890")
        try await harness.drain()
        #expect(
            verbs(harness) == ["BEGIN", "PART 1", "PART 2", "ABORT", "BEGIN", "PART 1", "PART 2", "PART 3", "COMPLETE"]
        )
        #expect(harness.remote.tree["home/n"] == "abcdefghijkl")
    }

    // MARK: Several at once

    @Test("As many parts as allowed are uploaded at once")
    func concurrentParts() async throws {
        let gate = Gate()
        let harness = try await harness(atOnce: 3) { request, _ in request.verb.hasPrefix("PART") ? .gate(gate) : nil }
        try await make(harness, "12345678901234567890")
        async let isDrained = harness.drain()
        while verbs(harness).count < 4 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(verbs(harness).first == "BEGIN" && Set(verbs(harness).dropFirst()) == ["PART 1", "PART 2", "PART 3"])
        gate.open()
        #expect(try await isDrained)
        #expect(verbs(harness).suffix(2) == ["PART 4", "COMPLETE"])
        #expect(harness.remote.state.withLock { $0.mostRunning } == 3)
        #expect(harness.remote.tree["home/n"] == "12345678901234567890")
        await harness.account.close()
    }

    @Test("Parts that arrive beside a failed one are not sent again, and count as sent")
    func partialFailure() async throws {
        let isCut = Switch()
        let gate = Gate()
        let harness = try await harness(atOnce: 4) { request, _ in
            guard request.verb == "PART 2" else { return nil }
            return isCut.isOn ? .before(RemoteError(.unauthorized, "Who?")) : .gate(gate)
        }
        try await make(harness, "12345678901234567890")
        try await harness.drain()
        #expect(Set(verbs(harness)) == ["BEGIN", "PART 1", "PART 2", "PART 3", "PART 4"])
        let parts = try await harness.stack.background { try $0.fetch(PartialUpload.all).map(\.parts) }
        #expect(parts.count == 1 && parts.first?.map(\.isEmpty) == [false, true, false, false])
        await harness.account.close()
        isCut.turnOff()
        let again = try await CloudHarness(
            harness.remote,
            handler: harness.handler,
            stack: harness.stack,
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

    @Test("Parts are larger if the remote limits their number")
    func largerParts() async throws {
        let few = RemoteCapabilities(minimumPartSize: 4, maximumPartCount: 3, isLocal: true)
        let harness = try await harness(few)
        try await make(harness, "12345678901234567890")
        try await harness.drain()
        #expect(verbs(harness) == ["BEGIN", "PART 1", "PART 2", "PART 3", "COMPLETE"])
        #expect(harness.remote.tree["home/n"] == "12345678901234567890")
        await harness.account.close()
    }

    // MARK: Abandoned uploads

    /// A harness with a waiting upload whose first part has arrived.
    private func begun(_ isCut: Switch = Switch()) async throws -> CloudHarness {
        let harness = try await harness { request, _ in
            request.verb == "PART 2" && isCut.isOn ? .before(RemoteError(.unauthorized, "Who?")) : nil
        }
        try await make(harness, "1234567890")
        try await harness.drain()
        try await expect(1, at: harness)
        return harness
    }

    /// Expects `count` multipart uploads, both at the remote and in the store.
    private func expect(
        _ count: Int,
        at harness: CloudHarness,
        account: CloudAccount? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        await (account ?? harness.account).reconciler.waitForAborts()
        #expect(harness.remote.state.withLock { $0.uploads.count } == count, sourceLocation: sourceLocation)
        let rows = try await harness.stack.background { try $0.count(PartialUpload.all) }
        #expect(rows == count, sourceLocation: sourceLocation)
    }

    private func skip(_ harness: CloudHarness) async throws {
        try await harness.stack.background { context in
            for operation in try context.fetch(QueuedOperation.all) { operation.skip() }
            try context.commit()
        }
    }

    @Test("A delete abandons the upload")
    func deletedNode() async throws {
        let harness = try await begun()
        try await harness.commit { try $0.delete($0.node(at: "/n")) }
        try await harness.drain()
        try await expect(0, at: harness)
    }

    @Test("Content that has become small or missing abandons the upload", arguments: ["tiny", nil])
    func smallerContent(text: String?) async throws {
        let harness = try await begun()
        let node = try await harness.read { try $0.node(at: "/n").id }
        if let text { harness.handler.set(text, of: node) } else { harness.handler.set([:], of: node) }
        try await harness.account.credentialsChanged()
        try await harness.drain()
        try await expect(0, at: harness)
        #expect(harness.remote.tree["home/n"] == text)
    }

    @Test("Content that is sent whole because of a larger part size abandons the upload")
    func largerPartSize() async throws {
        let harness = try await begun()
        await harness.account.close()
        let again = try await CloudHarness(
            harness.remote,
            handler: harness.handler,
            stack: harness.stack,
            options: CloudOptions(partSize: 100)
        )
        try await again.account.credentialsChanged()
        try await again.drain()
        try await expect(0, at: again)
        #expect(harness.remote.tree["home/n"] == "1234567890")
        await again.account.close()
    }

    @Test("A skipped upload is abandoned")
    func skippedUpload() async throws {
        let harness = try await begun()
        try await skip(harness)
        try await expect(0, at: harness)
    }

    @Test("A waiting upload keeps its parts, whatever else ends")
    func waitingUpload() async throws {
        let isCut = Switch()
        let harness = try await begun(isCut)
        try await harness.commit { cloud in harness.handler.set("small", of: try cloud.createNode(at: "/small").id) }
        try await harness.drain()
        try await expect(1, at: harness)
        isCut.turnOff()
        try await harness.account.credentialsChanged()
        try await harness.drain()
        #expect(verbs(harness).suffix(2) == ["PART 2", "COMPLETE"])
        try await expect(0, at: harness)
    }

    @Test("The next opening abandons uploads that were skipped in the meantime")
    func cleanupAtOpening() async throws {
        let harness = try await begun()
        await harness.account.close()
        try await skip(harness)
        try await expect(1, at: harness)
        let again = try await CloudHarness(harness.remote, handler: harness.handler, stack: harness.stack)
        try await expect(0, at: again)
        await again.account.close()
    }

    @Test("An upload that cannot be abandoned is abandoned when the remote is reachable again")
    func cleanupWhenReachable() async throws {
        let isAway = Switch()
        let network = ManualConstraint("network", isSatisfied: true)
        let harness = try await CloudHarness(
            StrictRemote(Self.abilities) { request, _ in
                switch request.verb {
                case "PART 2": .before(RemoteError(.unauthorized, "Who?"))
                case "ABORT" where isAway.isOn: .before(RemoteError(.unreachable, "Away."))
                default: nil
                }
            },
            options: CloudOptions(reachability: network, partSize: 5, maxConcurrentParts: 1)
        )
        try await make(harness, "1234567890")
        try await harness.drain()
        network.set(false)
        try await skip(harness)
        try await expect(1, at: harness)
        isAway.turnOff()
        network.set(true)
        try await expect(0, at: harness)
        await harness.account.close()
    }

    @Test("An upload that is queued and skipped while another one is being abandoned leaves nothing")
    func skippedDuringCleanup() async throws {
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let gate = Gate()
        let harness = try await harness { request, _ in
            switch request.verb {
            case "PART 2": return .before(RemoteError(.unauthorized, "Who?"))
            case "ABORT":
                hasBegun.yield()
                return .gate(gate)
            default: return nil
            }
        }
        try await make(harness, "1234567890")
        try await harness.drain()
        try await skip(harness)
        for await _ in begun { break }
        try await harness.commit { cloud in _ = try cloud.upload(cloud.node(at: "/n")) }
        gate.open()
        await harness.account.reconciler.waitForAborts()
        // The new upload may continue the multipart upload.
        #expect(try await harness.stack.background { try $0.count(PartialUpload.all) } == 1)
        try await skip(harness)
        try await expect(0, at: harness)
    }

    @Test(
        "A conflict keeps the parts only if the upload continues",
        arguments: [ConflictResolution.mine, .theirs, .both]
    )
    func conflictAndParts(resolution: ConflictResolution) async throws {
        let harness = try await harness()
        try await make(harness, "old")
        try await harness.drain()
        let node = try await harness.read { try $0.node(at: "/n").id }
        harness.remote.write("home/n", "of another machine")
        harness.handler.set("1234567890", of: node)
        try await harness.commit { cloud in _ = try cloud.upload(cloud.node(at: "/n")) }
        try await harness.drain()
        try await expect(1, at: harness)
        try await harness.commit { cloud in
            for conflict in try cloud.conflicts() { try cloud.resolve(conflict, resolution) }
        }
        try await expect(resolution == .mine ? 1 : 0, at: harness)
        try await harness.drain()
        try await expect(0, at: harness)
        #expect(harness.remote.tree["home/n"] == (resolution == .mine ? "1234567890" : "of another machine"))
    }
}

/// A switch that is on until a test turns it off.
private final class Switch: Sendable {
    private let state = Atomic(true)

    var isOn: Bool { state.load(ordering: .acquiring) }

    func turnOff() { state.store(false, ordering: .releasing) }
}
