import Foundation
import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

/// A conflict in an encrypted account names the sections that differ, although one file holds all sections.
@Suite struct EncryptedConflictTests {
    private static func bytes(_ text: String) -> Data { Data(text.utf8) }

    private static let sections: [ContentSections: Data] = [.metadata: bytes("old"), .data: bytes("data")]

    /// Two machines with one file. If `hasRead` is set, the second machine has read the file.
    private func machines(hasRead: Bool = true) async throws -> (EncryptedAccountHarness, EncryptedAccountHarness) {
        let first = try await EncryptedAccountHarness(sections: Self.sections)
        let second = try await EncryptedAccountHarness.other(of: first)
        if hasRead { _ = try await second.fetch(.metadata) }
        return (first, second)
    }

    /// Changes sections on a machine, and sends them. The machine does not have the other sections.
    private func change(_ machine: EncryptedAccountHarness, _ sections: [ContentSections: String]) async throws {
        machine.handler.set(sections.mapValues { Self.bytes($0) }, of: machine.node)
        try await machine.upload(ContentSections(Array(sections.keys)))
    }

    private func conflicts(_ machine: EncryptedAccountHarness) async throws -> [ContentSections] {
        try await machine.harness.read { try $0.conflicts().map(\.section) }
    }

    private func resolve(_ machine: EncryptedAccountHarness, _ resolution: ConflictResolution) async throws {
        try await machine.harness.commit { cloud in
            for conflict in try cloud.conflicts() { try cloud.resolve(conflict, resolution) }
        }
        try await machine.harness.drain()
        #expect(try await machine.harness.queued() == [])
    }

    /// The changes by others, and the sections of the resulting conflict.
    private static let changes: [[ContentSections: String]] = [
        [.metadata: "theirs"], [.data: "theirs"], [.metadata: "theirs", .data: "their data"], [.thumbnail: "new"],
        // The new data is as long as the earlier data.
        [.metadata: "new"], [.data: "DATA"],
    ]
    private static let expected: [ContentSections] = [
        .metadata, .data, [.metadata, .data], .thumbnail, .metadata, .data,
    ]

    @Test(
        "For a file that was read, the conflict names the sections that others have changed",
        arguments: zip(changes, expected)
    )
    func fileWasRead(
        _ theirs: [ContentSections: String],
        _ expected: ContentSections
    ) async throws {
        let (first, second) = try await machines()
        try await change(first, theirs)
        try await change(second, [.metadata: "ours", .data: "our data"])
        #expect(try await conflicts(second) == [expected])
        await first.close()
        await second.close()
    }

    @Test("For a file that was not read, the conflict names the sections that both have changed")
    func fileWasNotRead() async throws {
        let (first, second) = try await machines(hasRead: false)
        try await change(first, [.metadata: "theirs"])
        try await change(second, [.metadata: "ours"])
        #expect(try await conflicts(second) == [.metadata])
        await first.close()
        await second.close()
    }

    @Test("A change of the header alone is a conflict")
    func headerOnly() async throws {
        let (first, second) = try await machines()
        first.handler.state.withLock { $0.header = EncryptedHeader(application: ["kind": "film"]) }
        try await change(first, [.data: "data"])
        try await change(second, [.data: "our data"])
        #expect(try await conflicts(second) == [.header])
        await first.close()
        await second.close()
    }

    @Test("The same content encrypted again is not a conflict")
    func encryptedAgain() async throws {
        let (first, second) = try await machines()
        try await change(first, [.metadata: "old", .data: "data"])
        try await change(second, [.metadata: "ours", .data: "our data"])
        #expect(try await conflicts(second) == [])
        #expect(try second.opened(.metadata) == Self.bytes("ours"))
        #expect(try second.opened(.data) == Self.bytes("our data"))
        await first.close()
        await second.close()
    }

    @Test("The same change on both sides is not a conflict")
    func sameChange() async throws {
        let (first, second) = try await machines()
        try await change(first, [.metadata: "both"])
        try await change(second, [.metadata: "both"])
        #expect(try await conflicts(second) == [])
        #expect(try second.opened(.data) == Self.bytes("data"))
        await first.close()
        await second.close()
    }

    @Test(
        "A conflict in the metadata is resolved without the data",
        arguments: [ConflictResolution.merged, .mine, .theirs]
    )
    func metadataOnly(_ resolution: ConflictResolution) async throws {
        let (first, second) = try await machines()
        try await change(first, [.metadata: "theirs"])
        try await change(second, [.metadata: "ours"])
        #expect(try await conflicts(second) == [.metadata])
        try await resolve(second, resolution)
        let expected = resolution == .theirs ? "theirs" : "ours"
        #expect(try second.opened(.metadata) == Self.bytes(expected))
        #expect(try second.opened(.data) == Self.bytes("data"))
        #expect(try await second.fetch(.metadata) == Self.bytes(expected))
        await first.close()
        await second.close()
    }

    @Test("In a conflict about metadata only, both files have the data")
    func metadataOnlyKeepsData() async throws {
        let (first, second) = try await machines()
        try await change(first, [.metadata: "theirs"])
        try await change(second, [.metadata: "ours"])
        // This machine does not have the data: the data of the new node come from the remote.
        let metadata = [ContentSections.metadata: Self.bytes("ours")]
        second.handler.everyNode.withLock { $0 = metadata }
        try await resolve(second, .both)
        #expect(second.remote.tree.keys.sorted() == ["home/", "home/n", "home/n 2"])
        for (path, metadata) in [("home/n", "theirs"), ("home/n 2", "ours")] {
            let bytes = second.remote.bytes(path)
            #expect(try EncryptionFixture.open(bytes, .metadata, EncryptionFixture.keys) == Self.bytes(metadata))
            #expect(try EncryptionFixture.open(bytes, .data, EncryptionFixture.keys) == Self.bytes("data"))
        }
        await first.close()
        await second.close()
    }

    @Test("A section uploaded as the remote has it stays comparable")
    func comparableSection() async throws {
        let (first, second) = try await machines()
        // The data is not on the machine that changes the metadata, and its digest comes from the remote.
        try await change(second, [.metadata: "second"])
        try await first.harness.account.pull()
        _ = try await first.fetch(.metadata)
        try await change(second, [.metadata: "third"])
        try await change(first, [.metadata: "ours", .data: "our data"])
        #expect(try await conflicts(first) == [.metadata])
        await first.close()
        await second.close()
    }

    @Test("Digests leave enough space for the application's part of the header")
    func headerSpace() throws {
        var header = EncryptedHeader(application: [
            "a": String(repeating: "x", count: EncryptedHeader.maximumSize - 100)
        ])
        let plain = try header.encoded()
        header.digests = [.data: String(repeating: "0", count: 32)]
        let withDigests = try header.encoded()
        #expect(withDigests.count <= EncryptedHeader.maximumSize)
        #expect(try EncryptedHeader(decoding: plain).application == EncryptedHeader(decoding: withDigests).application)
        header.application = ["a": "b"]
        #expect(try EncryptedHeader(decoding: header.encoded()).digests == header.digests)
    }
}
