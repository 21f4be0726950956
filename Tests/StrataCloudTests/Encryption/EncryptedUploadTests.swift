import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// An encrypted upload is one file. Only owners of the key can read it, and it is transferred as safely as any other
/// file.
@Suite struct EncryptedUploadTests {
    @Test("All sections are one file in which nothing can be read")
    func oneFile() async throws {
        let handler = TestHandler()
        handler.state.withLock { $0.header = EncryptedHeader(application: ["kind": "film"]) }
        let machine = try await EncryptedAccountHarness(handler: handler)
        #expect(machine.remote.tree.keys.sorted() == ["home/", "home/n"])
        for (section, bytes) in EncryptedAccountHarness.sections {
            let sealed = try #require(EncryptedSection(section))
            #expect(try machine.opened(sealed) == bytes)
            #expect(machine.remote.bytes("home/n").range(of: bytes.prefix(16)) == nil)
        }
        #expect(machine.verbs("PUT").count == 1)
        #expect(handler.state.withLock { $0.uploaded } == ["metadata, thumbnail, data of /n"])
        #expect(try await machine.harness.read { try $0.context.count(SealedUpload.all) } == 0)
        await machine.close()
    }

    @Test("An upload whose answer is lost is recognized by its first bytes", arguments: [true, false])
    func lostAnswer(
        keepsMarks: Bool
    ) async throws {
        let once = Once()
        let remote = StrictRemote(RemoteCapabilities(keepsMarks: keepsMarks, isLocal: true)) { request, _ in
            request.verb == "PUT" && once() ? .answerLost : nil
        }
        let machine = try await EncryptedAccountHarness(remote)
        #expect(machine.verbs("PUT").count == 2)
        #expect(remote.state.withLock { $0.given } == (keepsMarks ? 0 : 212))
        #expect(try await machine.harness.read { try $0.conflicts().isEmpty })
        #expect(try machine.opened(.data) == EncryptedAccountHarness.sections[.data])
        await machine.close()
    }

    @Test("An interrupted upload in parts continues with the same bytes")
    func interruptedParts() async throws {
        let once = Once()
        let remote = StrictRemote(RemoteCapabilities(minimumPartSize: 4, isLocal: true)) { request, _ in
            request.verb == "PART 3" && once() ? .before(RemoteError(.answerLost, "Cut.")) : nil
        }
        let machine = try await EncryptedAccountHarness(remote, partSize: 100_000)
        #expect(
            machine.verbs("BEGIN", "PART", "COMPLETE", "PUT", "ABORT")
                == ["BEGIN", "PART 1", "PART 2", "PART 3", "PART 3", "PART 4", "COMPLETE"]
        )
        for section in [EncryptedSection.metadata, .thumbnail, .data] {
            #expect(try machine.opened(section) == EncryptedAccountHarness.sections[ContentSections(section)])
        }
        await machine.close()
    }

    @Test("An upload in parts continues when the account is opened again")
    func reopenedAccount() async throws {
        let once = Once()
        let remote = StrictRemote(RemoteCapabilities(minimumPartSize: 4, isLocal: true)) { request, _ in
            request.verb == "PART 3" && once() ? .before(RemoteError(.unauthorized, "Who?")) : nil
        }
        let machine = try await EncryptedAccountHarness(remote, partSize: 100_000)
        await machine.close()
        #expect(try await machine.harness.read { try $0.context.count(SealedUpload.all) } == 1)
        let again = try await CloudHarness(
            remote,
            handler: machine.handler,
            stack: machine.harness.stack,
            options: CloudOptions(
                encryption: ContentEncryption(EncryptionFixture.account),
                partSize: 100_000,
                maxConcurrentParts: 1
            )
        )
        try await again.account.credentialsChanged()
        try await again.drain()
        #expect(machine.verbs("BEGIN").count == 1 && machine.verbs("PART 1").count == 1)
        #expect(try machine.opened(.data) == EncryptedAccountHarness.sections[.data])
        await again.account.close()
    }

    @Test(
        "Content, header or keys that have changed in between start over with another salt",
        arguments: ["content", "header", "key"]
    )
    func changedInBetween(
        _ what: String
    ) async throws {
        let handler = TestHandler()
        let keys = Mutex(EncryptionFixture.keys)
        let next = AccountKeys(AccountKey(), earlier: [EncryptionFixture.account])
        let once = Once()
        let remote = StrictRemote(RemoteCapabilities(minimumPartSize: 4, isLocal: true)) { request, _ in
            guard request.verb == "PART 2", once() else { return nil }
            switch what {
            case "content":
                handler.state.withLock { state in
                    for node in state.sections.keys {
                        state.sections[node]?[.data] = EncryptionFixture.bytes(300_000, 9)
                    }
                }
            case "header": handler.state.withLock { $0.header = EncryptedHeader(application: ["kind": "film"]) }
            default: keys.withLock { $0 = next }
            }
            return .before(RemoteError(.answerLost, "Cut."))
        }
        let machine = try await EncryptedAccountHarness(
            remote,
            encryption: ContentEncryption { keys.withLock { $0 } },
            handler: handler,
            partSize: 150_000
        )
        #expect(
            machine.verbs("BEGIN", "PART", "COMPLETE", "ABORT")
                == ["BEGIN", "PART 1", "PART 2", "ABORT", "BEGIN", "PART 1", "PART 2", "PART 3", "COMPLETE"]
        )
        let bytes = what == "content" ? EncryptionFixture.bytes(300_000, 9) : EncryptedAccountHarness.sections[.data]
        #expect(try machine.opened(.data, keys: next) == bytes)
        let file = try EncryptedFile(remote.bytes("home/n"), node: ContentEncryption.binding, keys: next)
        #expect(file.accountKey == (what == "key" ? next.current.id : EncryptionFixture.account.id))
        await machine.close()
    }

    @Test("Waiting uploads of several sections are one")
    func waitingUploads() async throws {
        let machine = try await EncryptedAccountHarness()
        for section in [ContentSections.thumbnail, .data, .metadata] {
            try await machine.harness.commit { _ = try $0.upload($0.node(at: "/n"), section) }
        }
        try await machine.harness.drain()
        #expect(machine.verbs("PUT").count == 2)
        #expect(try await machine.harness.read { try $0.context.count(QueuedOperation.all) } == 0)
        await machine.close()
    }

    @Test("A section that is not on this machine is uploaded as the remote has it")
    func absentSection() async throws {
        let first = try await EncryptedAccountHarness()
        let second = try await EncryptedAccountHarness.other(of: first)
        let thumbnail = EncryptionFixture.bytes(10, 7)
        second.handler.set([.thumbnail: thumbnail], of: second.node)
        try await second.upload(.thumbnail)
        #expect(try second.opened(.thumbnail) == thumbnail)
        #expect(try second.opened(.data) == EncryptedAccountHarness.sections[.data])
        #expect(try second.opened(.metadata) == EncryptedAccountHarness.sections[.metadata])
        #expect(second.handler.state.withLock { $0.uploaded } == ["thumbnail of /n"])
        await first.close()
        await second.close()
    }

    @Test("An absent section is also uploaded after a lost answer and another change")
    func absentSectionAfterLostAnswer()
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
        let first = try await EncryptedAccountHarness(remote)
        let second = try await EncryptedAccountHarness.other(of: first, handler: handler)
        handler.set([.thumbnail: Data([1])], of: second.node)
        try await second.upload(.thumbnail)
        #expect(second.verbs("PUT").count == 3)
        #expect(try second.opened(.thumbnail) == Data([2]))
        #expect(try second.opened(.data) == EncryptedAccountHarness.sections[.data])
        #expect(try second.opened(.metadata) == EncryptedAccountHarness.sections[.metadata])
        #expect(try await second.harness.read { try $0.conflicts().isEmpty })
        await first.close()
        await second.close()
    }

    @Test("A node keeps its key, and each version has its own salt")
    func keyAndSalt() async throws {
        let machine = try await EncryptedAccountHarness()
        let first = try EncryptedFile(
            machine.remote.bytes("home/n"),
            node: ContentEncryption.binding,
            keys: EncryptionFixture.keys
        )
        try await machine.upload(.data)
        let second = try EncryptedFile(
            machine.remote.bytes("home/n"),
            node: ContentEncryption.binding,
            keys: EncryptionFixture.keys
        )
        #expect(first.contentKey.bytes == second.contentKey.bytes)
        #expect(first.preamble.salt != second.preamble.salt)
        await machine.close()
    }

    @Test(
        "A file that another machine has encrypted is not overwritten",
        arguments: [ConflictResolution.mine, .theirs, .both]
    )
    func otherMachine(_ resolution: ConflictResolution) async throws {
        let first = try await EncryptedAccountHarness()
        let second = try await EncryptedAccountHarness.other(of: first)
        let (ours, theirs) = (EncryptionFixture.bytes(100, 5), EncryptionFixture.bytes(200, 6))
        first.handler.set([.data: theirs], of: first.node)
        try await first.upload(.given)
        second.handler.set([.data: ours], of: second.node)
        try await second.upload(.given)
        #expect(try await second.harness.read { try $0.conflicts().map(\.section) } == [.data])
        #expect(try second.opened(.data) == theirs)
        try await second.harness.commit { cloud in
            for conflict in try cloud.conflicts() { try cloud.resolve(conflict, resolution) }
        }
        let new = try await second.harness.read { try $0.find("/n 2")?.id }
        if let new { second.handler.set([.data: ours], of: new) }
        try await second.harness.drain()
        switch resolution {
        case .mine: #expect(try second.opened(.data) == ours)
        case .both:
            #expect(try EncryptionFixture.open(second.remote.bytes("home/n 2"), .data, EncryptionFixture.keys) == ours)
        default: #expect(try await second.fetch() == theirs)
        }
        await first.close()
        await second.close()
    }

    @Test("Files that the remote copies or moves can still be decrypted", arguments: [true, false])
    func copiesAndMoves(copies: Bool) async throws {
        let first = try await EncryptedAccountHarness(
            StrictRemote(RemoteCapabilities(copies: copies, moves: copies, isLocal: true))
        )
        try await first.harness.commit { cloud in
            try cloud.copy(cloud.node(at: "/n"), to: "/copy")
            try cloud.move(cloud.node(at: "/n"), to: "/moved")
        }
        try await first.harness.drain()
        #expect(first.verbs("PUT").count == (copies ? 1 : 3))
        for path in ["home/copy", "home/moved"] {
            #expect(
                try EncryptionFixture.open(first.remote.bytes(path), .data, EncryptionFixture.keys)
                    == EncryptedAccountHarness.sections[.data]
            )
        }
        // This machine still knows the header of the file at its new path: each section costs one request.
        let before = first.verbs("GET").count
        for path in [TreePath(["copy"]), TreePath(["moved"])] {
            let node = try await first.harness.read { try $0.node(at: path).id }
            let file = try await first.harness.account.downloads.fetch(node, .thumbnail)
            #expect(try Data(contentsOf: file.file) == EncryptedAccountHarness.sections[.thumbnail])
            file.release()
        }
        #expect(first.verbs("GET").count == before + 2)
        await first.close()
    }

    @Test("Small content is read once, in whatever form it is given")
    func readOnce() async throws {
        for encryption in [nil, ContentEncryption(EncryptionFixture.account)] {
            #expect(try await Self.reads(size: 1000, encryption) == 1)
            // One read computes the content's hash, and one read sends the content.
            #expect(try await Self.reads(size: 1 << 20, encryption) == 2)
        }
    }

    /// The number of times that an upload reads the content.
    private static func reads(size: Int, _ encryption: ContentEncryption?) async throws -> Int {
        let count = Counter()
        let body = RemoteBody(size: Int64(size)) { range in
            count.value.withLock { $0 += 1 }
            return try await RemoteBody(EncryptionFixture.bytes(size)).chunks(range)
        }
        let stack = try await ContextStack.open(.inMemory, models: [Note.self] + CloudAccount.models, stack: .rootOnly)
        let account = try await CloudAccount.open(
            stack,
            id: "counting",
            remote: StrictRemote(),
            handler: OneBody(body: body),
            options: CloudOptions(encryption: encryption, isSuspended: true)
        )
        try await stack.background { context in
            try context.cloud(account).createNode(at: "/n")
            try context.commit()
        }
        account.uploads.resume()
        while try await stack.background({ try $0.count(QueuedOperation.all) }) > 0 {
            await account.uploads.waitForPasses()
        }
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
