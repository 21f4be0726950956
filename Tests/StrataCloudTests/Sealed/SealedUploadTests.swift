import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// An encrypted upload is one file. Only owners of the key can read it, and it is transferred as safely as any other
/// file.
@Suite struct SealedUploadTests {
    @Test func `all sections are one file, in which nothing can be read`() async throws {
        let handler = TestHandler()
        handler.state.withLock { $0.header = SealedHeader(application: ["kind": "film"]) }
        let machine = try await SealedStage(handler: handler)
        #expect(machine.remote.tree.keys.sorted() == ["home/", "home/n"])
        for (section, bytes) in SealedStage.sections {
            let sealed = try #require(SealedSection(section))
            #expect(try machine.opened(sealed) == bytes)
            #expect(machine.remote.bytes("home/n").range(of: bytes.prefix(16)) == nil)
        }
        #expect(machine.verbs("PUT").count == 1)
        #expect(handler.state.withLock { $0.uploaded } == ["metadata, thumbnail, data of /n"])
        #expect(try await machine.stage.read { try $0.context.count(SealedUpload.all) } == 0)
        await machine.close()
    }

    @Test(arguments: [true, false]) func `an upload whose answer is lost is recognised by its first bytes`(
        keepsMarks: Bool
    ) async throws {
        let once = Once()
        let remote = StrictRemote(RemoteCapabilities(keepsMarks: keepsMarks, isLocal: true)) { request, _ in
            request.verb == "PUT" && once() ? .answerLost : nil
        }
        let machine = try await SealedStage(remote)
        #expect(machine.verbs("PUT").count == 2)
        #expect(remote.state.withLock { $0.given } == (keepsMarks ? 0 : 212))
        #expect(try await machine.stage.read { try $0.conflicts().isEmpty })
        #expect(try machine.opened(.data) == SealedStage.sections[.data])
        await machine.close()
    }

    @Test func `an upload in parts that breaks off goes on with the same bytes`() async throws {
        let once = Once()
        let remote = StrictRemote(RemoteCapabilities(minimumPartSize: 4, isLocal: true)) { request, _ in
            request.verb == "PART 3" && once() ? .before(RemoteError(.answerLost, "Cut.")) : nil
        }
        let machine = try await SealedStage(remote, partSize: 100_000)
        #expect(
            machine.verbs("BEGIN", "PART", "COMPLETE", "PUT", "ABORT")
                == ["BEGIN", "PART 1", "PART 2", "PART 3", "PART 3", "PART 4", "COMPLETE"]
        )
        for section in [SealedSection.metadata, .thumbnail, .data] {
            #expect(try machine.opened(section) == SealedStage.sections[ContentSections(section)])
        }
        await machine.close()
    }

    @Test func `an upload in parts goes on when the account is opened again`() async throws {
        let once = Once()
        let remote = StrictRemote(RemoteCapabilities(minimumPartSize: 4, isLocal: true)) { request, _ in
            request.verb == "PART 3" && once() ? .before(RemoteError(.unauthorized, "Who?")) : nil
        }
        let machine = try await SealedStage(remote, partSize: 100_000)
        await machine.close()
        #expect(try await machine.stage.read { try $0.context.count(SealedUpload.all) } == 1)
        let again = try await CloudStage(
            remote,
            handler: machine.handler,
            stack: machine.stage.stack,
            options: CloudOptions(
                sealing: ContentSealing(SealedWorld.account),
                partSize: 100_000,
                maxConcurrentParts: 1
            )
        )
        try await again.account.credentialsChanged()
        try await again.drain()
        #expect(machine.verbs("BEGIN").count == 1 && machine.verbs("PART 1").count == 1)
        #expect(try machine.opened(.data) == SealedStage.sections[.data])
        await again.account.close()
    }

    @Test(arguments: ["content", "header", "key"]) func `what has changed meanwhile begins anew, under another salt`(
        _ what: String
    ) async throws {
        let handler = TestHandler()
        let keys = Mutex(SealedWorld.keys)
        let next = AccountKeys(AccountKey(), earlier: [SealedWorld.account])
        let once = Once()
        let remote = StrictRemote(RemoteCapabilities(minimumPartSize: 4, isLocal: true)) { request, _ in
            guard request.verb == "PART 2", once() else { return nil }
            switch what {
            case "content":
                handler.state.withLock { state in
                    for node in state.sections.keys { state.sections[node]?[.data] = SealedWorld.bytes(300_000, 9) }
                }
            case "header": handler.state.withLock { $0.header = SealedHeader(application: ["kind": "film"]) }
            default: keys.withLock { $0 = next }
            }
            return .before(RemoteError(.answerLost, "Cut."))
        }
        let machine = try await SealedStage(
            remote,
            sealing: ContentSealing { keys.withLock { $0 } },
            handler: handler,
            partSize: 150_000
        )
        #expect(
            machine.verbs("BEGIN", "PART", "COMPLETE", "ABORT")
                == ["BEGIN", "PART 1", "PART 2", "ABORT", "BEGIN", "PART 1", "PART 2", "PART 3", "COMPLETE"]
        )
        let bytes = what == "content" ? SealedWorld.bytes(300_000, 9) : SealedStage.sections[.data]
        #expect(try machine.opened(.data, keys: next) == bytes)
        let file = try SealedFile(remote.bytes("home/n"), node: ContentSealing.binding, keys: next)
        #expect(file.accountKey == (what == "key" ? next.current.id : SealedWorld.account.id))
        await machine.close()
    }

    @Test func `uploads of several sections that wait are one`() async throws {
        let machine = try await SealedStage()
        for section in [ContentSections.thumbnail, .data, .metadata] {
            try await machine.stage.commit { _ = try $0.upload($0.node(at: "/n"), section) }
        }
        try await machine.stage.drain()
        #expect(machine.verbs("PUT").count == 2)
        #expect(try await machine.stage.read { try $0.context.count(QueuedOperation.all) } == 0)
        await machine.close()
    }

    @Test func `a section that is not here is sent as the remote has it`() async throws {
        let first = try await SealedStage()
        let second = try await SealedStage.other(of: first)
        let thumbnail = SealedWorld.bytes(10, 7)
        second.handler.set([.thumbnail: thumbnail], of: second.node)
        try await second.upload(.thumbnail)
        #expect(try second.opened(.thumbnail) == thumbnail)
        #expect(try second.opened(.data) == SealedStage.sections[.data])
        #expect(try second.opened(.metadata) == SealedStage.sections[.metadata])
        #expect(second.handler.state.withLock { $0.uploaded } == ["thumbnail of /n"])
        await first.close()
        await second.close()
    }

    @Test func `a section that is not here is sent along also when an answer was lost and the rest has changed`()
        async throws
    {
        let handler = TestHandler()
        let puts = Mutex(0)
        let remote = StrictRemote { request, _ in
            guard request.verb == "PUT",
                puts.withLock({
                    $0 += 1; return $0 == 2
                })
            else { return nil }
            handler.state.withLock { state in
                for node in state.sections.keys { state.sections[node] = [.thumbnail: Data([2])] }
            }
            return .answerLost
        }
        let first = try await SealedStage(remote)
        let second = try await SealedStage.other(of: first, handler: handler)
        handler.set([.thumbnail: Data([1])], of: second.node)
        try await second.upload(.thumbnail)
        #expect(second.verbs("PUT").count == 3)
        #expect(try second.opened(.thumbnail) == Data([2]))
        #expect(try second.opened(.data) == SealedStage.sections[.data])
        #expect(try second.opened(.metadata) == SealedStage.sections[.metadata])
        #expect(try await second.stage.read { try $0.conflicts().isEmpty })
        await first.close()
        await second.close()
    }

    @Test func `the key of a node stays, and each version has a salt of its own`() async throws {
        let machine = try await SealedStage()
        let first = try SealedFile(machine.remote.bytes("home/n"), node: ContentSealing.binding, keys: SealedWorld.keys)
        try await machine.upload(.data)
        let second = try SealedFile(
            machine.remote.bytes("home/n"),
            node: ContentSealing.binding,
            keys: SealedWorld.keys
        )
        #expect(first.contentKey.bytes == second.contentKey.bytes)
        #expect(first.preamble.salt != second.preamble.salt)
        await machine.close()
    }

    @Test(arguments: [ConflictResolution.mine, .theirs, .both])
    func `what another machine has sealed is not overwritten`(_ resolution: ConflictResolution) async throws {
        let first = try await SealedStage()
        let second = try await SealedStage.other(of: first)
        let (ours, theirs) = (SealedWorld.bytes(100, 5), SealedWorld.bytes(200, 6))
        first.handler.set([.data: theirs], of: first.node)
        try await first.upload(.given)
        second.handler.set([.data: ours], of: second.node)
        try await second.upload(.given)
        #expect(try await second.stage.read { try $0.conflicts().map(\.section) } == [.data])
        #expect(try second.opened(.data) == theirs)
        try await second.stage.commit { cloud in
            for conflict in try cloud.conflicts() { try cloud.resolve(conflict, resolution) }
        }
        let new = try await second.stage.read { try $0.find("/n 2")?.id }
        if let new { second.handler.set([.data: ours], of: new) }
        try await second.stage.drain()
        switch resolution {
        case .mine: #expect(try second.opened(.data) == ours)
        case .both: #expect(try SealedWorld.open(second.remote.bytes("home/n 2"), .data, SealedWorld.keys) == ours)
        default: #expect(try await second.fetch() == theirs)
        }
        await first.close()
        await second.close()
    }

    @Test(arguments: [true, false]) func `what the remote copies and moves stays open`(copies: Bool) async throws {
        let first = try await SealedStage(
            StrictRemote(RemoteCapabilities(copies: copies, moves: copies, isLocal: true))
        )
        try await first.stage.commit { cloud in
            try cloud.copy(cloud.node(at: "/n"), to: "/copy")
            try cloud.move(cloud.node(at: "/n"), to: "/moved")
        }
        try await first.stage.drain()
        #expect(first.verbs("PUT").count == (copies ? 1 : 3))
        for path in ["home/copy", "home/moved"] {
            #expect(
                try SealedWorld.open(first.remote.bytes(path), .data, SealedWorld.keys) == SealedStage.sections[.data]
            )
        }
        // This machine still knows the header of the file at its new path: each section costs one request.
        let before = first.verbs("GET").count
        for path in [TreePath(["copy"]), TreePath(["moved"])] {
            let node = try await first.stage.read { try $0.node(at: path).id }
            let file = try await first.stage.account.downloads.fetch(node, .thumbnail)
            #expect(try Data(contentsOf: file.file) == SealedStage.sections[.thumbnail])
            file.release()
        }
        #expect(first.verbs("GET").count == before + 2)
        await first.close()
    }

    @Test func `small content is read once, whatever it is given as`() async throws {
        for sealing in [nil, ContentSealing(SealedWorld.account)] {
            #expect(try await Self.reads(size: 1000, sealing) == 1)
            // One read computes the content's hash, and one read sends the content.
            #expect(try await Self.reads(size: 1 << 20, sealing) == 2)
        }
    }

    /// The number of times that an upload reads the content.
    private static func reads(size: Int, _ sealing: ContentSealing?) async throws -> Int {
        let count = Counter()
        let body = RemoteBody(size: Int64(size)) { range in
            count.value.withLock { $0 += 1 }
            return try await RemoteBody(SealedWorld.bytes(size)).chunks(range)
        }
        let stack = try await ContextStack.open(.inMemory, models: [Note.self] + CloudAccount.models, stack: .rootOnly)
        let account = try await CloudAccount.open(
            stack,
            id: "counting",
            remote: StrictRemote(),
            handler: OneBody(body: body),
            options: CloudOptions(sealing: sealing, isSuspended: true)
        )
        try await stack.background { context in
            try context.cloud(account).createNode(at: "/n")
            try context.commit()
        }
        account.push.resume()
        while try await stack.background({ try $0.count(QueuedOperation.all) }) > 0 { await account.push.settle() }
        await account.close()
        try await stack.close()
        return count.value.withLock { $0 }
    }

    private final class Counter: Sendable { let value = Mutex(0) }

    private struct OneBody: CloudHandler {
        let body: RemoteBody
        func content(for request: ContentRequest) async throws -> RemoteBody? { request.section == .data ? body : nil }
    }
}
