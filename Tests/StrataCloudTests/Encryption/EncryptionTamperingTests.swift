import Foundation
import Testing

@testable import StrataCloud

@Suite struct EncryptionTamperingTests {
    private static let codes: Set<CloudError.Code> = [
        .notEncrypted, .encryptionVersionUnknown, .accountKeyUnknown, .encryptionKeyRefused, .encryptedContentDamaged,
        .encryptedContentTruncated,
    ]

    @Test("Every changed byte is noticed")
    func changedBytes() async throws {
        let bytes = try await EncryptionFixture.encryptor(metadata: 17, thumbnail: 16, data: 33).body.data()
        #expect(try EncryptionFixture.refusal(bytes) == nil)
        for index in bytes.indices {
            for change: UInt8 in [0x01, 0x80, 0xFF] {
                var changed = bytes
                changed[index] ^= change
                let code = try EncryptionFixture.refusal(changed)
                #expect(code.map(Self.codes.contains) == true, "byte \(index)")
                if index >= 212 { #expect(code == .encryptedContentDamaged) }
            }
        }
    }

    @Test("Every missing byte at the end is noticed, and every additional one")
    func truncation() async throws {
        let bytes = try await EncryptionFixture.encryptor(metadata: 17, thumbnail: 16, data: 33).body.data()
        for count in 0..<bytes.count {
            #expect(try EncryptionFixture.refusal(bytes.prefix(count)) == .encryptedContentTruncated, "\(count) bytes")
        }
        #expect(try EncryptionFixture.refusal(bytes + [0]) == .encryptedContentDamaged)
    }

    @Test("Streams that end early, late or at the border of a chunk are noticed")
    func streamEnds() async throws {
        let bytes = try await EncryptionFixture.encryptor(data: 50).body.data()
        let file = try EncryptedFile(bytes, node: EncryptionFixture.node, keys: EncryptionFixture.keys)
        let sealed = bytes[Int(file.encryptedRange(of: .data).lowerBound)...]
        for count in 0..<sealed.count {
            let opened = file.open(.data, in: EncryptionFixture.stream(sealed.prefix(count), pieces: 13))
            let error = await #expect(throws: CloudError.self) { try await EncryptionFixture.collect(opened) }
            #expect(error?.code == .encryptedContentTruncated)
        }
        let opened = file.open(.data, in: EncryptionFixture.stream(sealed + [1], pieces: 13))
        let error = await #expect(throws: CloudError.self) { try await EncryptionFixture.collect(opened) }
        #expect(error?.code == .encryptedContentDamaged)
    }

    @Test("Content before a damaged chunk is genuine, and nothing follows it")
    func genuinePrefix() async throws {
        var bytes = try await EncryptionFixture.encryptor(data: 50).body.data()
        let file = try EncryptedFile(bytes, node: EncryptionFixture.node, keys: EncryptionFixture.keys)
        let range = file.encryptedRange(of: .data)
        bytes[Int(range.lowerBound) + 44 + 20] ^= 1
        var opened = Data()
        var failures = 0
        var iterator = file.open(.data, in: EncryptionFixture.stream(bytes[Int(range.lowerBound)...], pieces: 200))
            .makeAsyncIterator()
        for _ in 0..<10 {
            do {
                guard let chunk = try await iterator.next() else { break }
                opened += chunk
            } catch {
                failures += 1
            }
        }
        #expect(opened == EncryptionFixture.content(.data, 50).prefix(16))
        #expect(failures == 1)
    }

    /// Chunks of 16 bytes each wherever possible, so that any chunk could replace any other.
    private struct Chunks {
        let places: [Range<Int>]

        init(_ file: EncryptedFile) {
            places = EncryptedSection.allCases.flatMap { section in
                (0..<file.layout.chunkCount(of: section)).map { chunk in
                    let range = file.layout.encryptedRange(of: section, chunks: chunk..<chunk + 1)
                    return Int(range.lowerBound)..<Int(range.upperBound)
                }
            }
        }
    }

    @Test("Exchanged chunks are noticed, within a section and between sections")
    func movedChunks() async throws {
        // The same content everywhere: only the position distinguishes the chunks.
        let same = EncryptionSource.data(Data(repeating: 7, count: 48))
        let encryptor = try ContentEncryptor(
            metadata: same,
            thumbnail: same,
            data: same,
            key: EncryptionFixture.key,
            node: EncryptionFixture.node,
            keys: EncryptionFixture.keys,
            chunkSize: 16
        )
        let bytes = try await encryptor.body.data()
        let places = Chunks(try EncryptedFile(bytes, node: EncryptionFixture.node, keys: EncryptionFixture.keys)).places
        for one in places {
            for other in places where other != one && other.count == one.count {
                var changed = bytes
                changed.replaceSubrange(one, with: bytes[other])
                #expect(try EncryptionFixture.refusal(changed) == .encryptedContentDamaged)
            }
        }
        // Whole sections of the same size are exchanged.
        var changed = bytes
        changed.replaceSubrange(
            places[places.count - 3].lowerBound..<places[places.count - 1].upperBound,
            with: bytes[places[places.count - 6].lowerBound..<places[places.count - 4].upperBound]
        )
        #expect(try EncryptionFixture.refusal(changed) == .encryptedContentDamaged)
    }

    @Test("Chunks of another version, and of another node with the same key, are noticed")
    func chunksOfOtherVersions()
        async throws
    {
        let bytes = try await EncryptionFixture.encryptor(metadata: 32, data: 48).body.data()
        let others = [
            try await EncryptionFixture.encryptor(metadata: 32, data: 48).body.data(),
            try await EncryptionFixture.encryptor(metadata: 32, data: 48, node: "alice/43").body.data(),
            try await EncryptionFixture.encryptor(metadata: 32, data: 48, key: ContentKey()).body.data(),
        ]
        let places = Chunks(try EncryptedFile(bytes, node: EncryptionFixture.node, keys: EncryptionFixture.keys)).places
        for other in others {
            #expect(other.count == bytes.count)
            for place in places {
                var changed = bytes
                changed.replaceSubrange(place, with: other[place])
                #expect(try EncryptionFixture.refusal(changed) == .encryptedContentDamaged)
            }
            // Everything but the preamble is exchanged, and then parts of the preamble.
            #expect(try EncryptionFixture.refusal(bytes.prefix(212) + other.dropFirst(212)) == .encryptedContentDamaged)
            for part in [28..<60, 60..<120, 120..<212] {
                var changed = bytes
                changed.replaceSubrange(part, with: other[part])
                #expect(try EncryptionFixture.refusal(changed) == .encryptionKeyRefused)
            }
        }
    }

    @Test("The file of another node is noticed, with the same content key and with another one")
    func fileOfOtherNode() async throws {
        let same = try await EncryptionFixture.encryptor(data: 5, node: "alice/43").body.data()
        #expect(try EncryptionFixture.refusal(same) == .encryptedForAnotherNode)
        let other = try await EncryptionFixture.encryptor(data: 5, key: ContentKey(), node: "alice/43").body.data()
        #expect(try EncryptionFixture.refusal(other) == .encryptedForAnotherNode)
        #expect(try EncryptionFixture.refusal(other, node: "alice/43") == nil)
    }

    @Test("Other keys are refused, whether they are unknown or only have the same name")
    func otherKeys() async throws {
        let bytes = try await EncryptionFixture.encryptor(data: 5).body.data()
        #expect(try EncryptionFixture.refusal(bytes, keys: AccountKeys(AccountKey())) == .accountKeyUnknown)
        let impostor = try AccountKey(id: EncryptionFixture.account.id, bytes: AccountKey().bytes)
        #expect(try EncryptionFixture.refusal(bytes, keys: AccountKeys(impostor)) == .encryptionKeyRefused)
        let error = #expect(throws: CloudError.self) {
            try EncryptedFile(bytes, node: EncryptionFixture.node, key: ContentKey())
        }
        #expect(error?.code == .encryptionKeyRefused)
    }

    @Test(
        "Versions, algorithms and flags of later formats are distinguished from damage",
        arguments: [(8, UInt8(2)), (9, 2), (10, 3), (10, 25), (10, 255), (11, 1)]
    )
    func laterFormats(index: Int, value: UInt8) async throws {
        var bytes = try await EncryptionFixture.encryptor(data: 5).body.data()
        bytes[index] = value
        #expect(try EncryptionFixture.refusal(bytes) == .encryptionVersionUnknown)
    }

    @Test(
        "A file that is not encrypted is distinguished from a damaged one",
        arguments: ["", "\u{89}", "hello", String(repeating: "x", count: 400)]
    )
    func notEncrypted(text: String) throws {
        #expect(
            try EncryptionFixture.refusal(Data(text.utf8))
                == (text.isEmpty ? .encryptedContentTruncated : .notEncrypted)
        )
    }

    @Test("Impossible sizes are refused, even from an owner of the keys")
    func impossibleSizes() throws {
        for size in [UInt64(1) << 57, UInt64.max, UInt64(1) << 63] {
            var preamble = EncryptedFilePreamble(
                exponent: 4,
                accountKey: EncryptionFixture.account.id,
                salt: Data(count: 32)
            )
            let keys = EncryptedFileKeys(EncryptionFixture.key, salt: preamble.salt, node: EncryptionFixture.node)
            let layout = EncryptedFileLayout(
                chunkSize: 16,
                sizes: [0, 0, 0, Int64(bitPattern: size)].map { $0 < 0 ? Int64.max : $0 }
            )
            try preamble.encryptTable(layout, node: EncryptionFixture.node, keys: keys, nonce: Data(count: 12))
            try preamble.wrap(EncryptionFixture.key, with: EncryptionFixture.account, nonce: Data(count: 12))
            #expect(try EncryptionFixture.refusal(preamble.bytes) == .encryptedContentMalformed)
        }
    }
}
