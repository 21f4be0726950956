import Foundation
import Testing

@testable import StrataCloud

@Suite struct SealedTamperingTests {
    private static let codes: Set<CloudError.Code> = [
        .notSealed, .sealedVersionUnknown, .accountKeyUnknown, .sealKeyRefused, .sealedDamaged, .sealedTruncated,
    ]

    @Test func `every byte that is changed is noticed`() async throws {
        let bytes = try await SealedWorld.sealer(metadata: 17, thumbnail: 16, data: 33).body.data()
        #expect(try SealedWorld.refusal(bytes) == nil)
        for index in bytes.indices {
            for change: UInt8 in [0x01, 0x80, 0xFF] {
                var changed = bytes
                changed[index] ^= change
                let code = try SealedWorld.refusal(changed)
                #expect(code.map(Self.codes.contains) == true, "byte \(index)")
                if index >= 212 { #expect(code == .sealedDamaged) }
            }
        }
    }

    @Test func `every byte that is missing at the end is noticed, and every one too many`() async throws {
        let bytes = try await SealedWorld.sealer(metadata: 17, thumbnail: 16, data: 33).body.data()
        for count in 0..<bytes.count {
            #expect(try SealedWorld.refusal(bytes.prefix(count)) == .sealedTruncated, "\(count) bytes")
        }
        #expect(try SealedWorld.refusal(bytes + [0]) == .sealedDamaged)
    }

    @Test func `streams that end early, late or at the border of a chunk are noticed`() async throws {
        let bytes = try await SealedWorld.sealer(data: 50).body.data()
        let file = try SealedFile(bytes, node: SealedWorld.node, keys: SealedWorld.keys)
        let sealed = bytes[Int(file.sealedRange(of: .data).lowerBound)...]
        for count in 0..<sealed.count {
            let opened = file.open(.data, in: SealedWorld.stream(sealed.prefix(count), pieces: 13))
            let error = await #expect(throws: CloudError.self) { try await SealedWorld.collect(opened) }
            #expect(error?.code == .sealedTruncated)
        }
        let opened = file.open(.data, in: SealedWorld.stream(sealed + [1], pieces: 13))
        let error = await #expect(throws: CloudError.self) { try await SealedWorld.collect(opened) }
        #expect(error?.code == .sealedDamaged)
    }

    @Test func `what was opened before a damaged chunk is genuine, and nothing follows it`() async throws {
        var bytes = try await SealedWorld.sealer(data: 50).body.data()
        let file = try SealedFile(bytes, node: SealedWorld.node, keys: SealedWorld.keys)
        let range = file.sealedRange(of: .data)
        bytes[Int(range.lowerBound) + 44 + 20] ^= 1
        var opened = Data()
        var failures = 0
        var iterator = file.open(.data, in: SealedWorld.stream(bytes[Int(range.lowerBound)...], pieces: 200))
            .makeAsyncIterator()
        for _ in 0..<10 {
            do {
                guard let chunk = try await iterator.next() else { break }
                opened += chunk
            } catch {
                failures += 1
            }
        }
        #expect(opened == SealedWorld.content(.data, 50).prefix(16))
        #expect(failures == 1)
    }

    /// Chunks of 16 bytes each wherever possible, so that any chunk could replace any other.
    private struct Chunks {
        let places: [Range<Int>]

        init(_ file: SealedFile) {
            places = SealedSection.allCases.flatMap { section in
                (0..<file.layout.chunkCount(of: section)).map { chunk in
                    let range = file.layout.sealedRange(of: section, chunks: chunk..<chunk + 1)
                    return Int(range.lowerBound)..<Int(range.upperBound)
                }
            }
        }
    }

    @Test func `chunks that have changed places are noticed, within a section and between them`() async throws {
        // The same content everywhere: only the position distinguishes the chunks.
        let same = SealSource.data(Data(repeating: 7, count: 48))
        let sealer = try Sealer(
            metadata: same,
            thumbnail: same,
            data: same,
            key: SealedWorld.key,
            node: SealedWorld.node,
            keys: SealedWorld.keys,
            chunkSize: 16
        )
        let bytes = try await sealer.body.data()
        let places = Chunks(try SealedFile(bytes, node: SealedWorld.node, keys: SealedWorld.keys)).places
        for one in places {
            for other in places where other != one && other.count == one.count {
                var changed = bytes
                changed.replaceSubrange(one, with: bytes[other])
                #expect(try SealedWorld.refusal(changed) == .sealedDamaged)
            }
        }
        // Whole sections of the same size are exchanged.
        var changed = bytes
        changed.replaceSubrange(
            places[places.count - 3].lowerBound..<places[places.count - 1].upperBound,
            with: bytes[places[places.count - 6].lowerBound..<places[places.count - 4].upperBound]
        )
        #expect(try SealedWorld.refusal(changed) == .sealedDamaged)
    }

    @Test func `chunks of another version of the same node are noticed, and of another node with the same key`()
        async throws
    {
        let bytes = try await SealedWorld.sealer(metadata: 32, data: 48).body.data()
        let others = [
            try await SealedWorld.sealer(metadata: 32, data: 48).body.data(),
            try await SealedWorld.sealer(metadata: 32, data: 48, node: "alice/43").body.data(),
            try await SealedWorld.sealer(metadata: 32, data: 48, key: ContentKey()).body.data(),
        ]
        let places = Chunks(try SealedFile(bytes, node: SealedWorld.node, keys: SealedWorld.keys)).places
        for other in others {
            #expect(other.count == bytes.count)
            for place in places {
                var changed = bytes
                changed.replaceSubrange(place, with: other[place])
                #expect(try SealedWorld.refusal(changed) == .sealedDamaged)
            }
            // Everything but the preamble is exchanged, and then parts of the preamble.
            #expect(try SealedWorld.refusal(bytes.prefix(212) + other.dropFirst(212)) == .sealedDamaged)
            for part in [28..<60, 60..<120, 120..<212] {
                var changed = bytes
                changed.replaceSubrange(part, with: other[part])
                #expect(try SealedWorld.refusal(changed) == .sealKeyRefused)
            }
        }
    }

    @Test func `the file of another node is noticed, with the same content key and with another one`() async throws {
        let same = try await SealedWorld.sealer(data: 5, node: "alice/43").body.data()
        #expect(try SealedWorld.refusal(same) == .sealedForAnotherNode)
        let other = try await SealedWorld.sealer(data: 5, key: ContentKey(), node: "alice/43").body.data()
        #expect(try SealedWorld.refusal(other) == .sealedForAnotherNode)
        #expect(try SealedWorld.refusal(other, node: "alice/43") == nil)
    }

    @Test func `other keys are refused, whether they are unknown or only look the same`() async throws {
        let bytes = try await SealedWorld.sealer(data: 5).body.data()
        #expect(try SealedWorld.refusal(bytes, keys: AccountKeys(AccountKey())) == .accountKeyUnknown)
        let impostor = try AccountKey(id: SealedWorld.account.id, bytes: AccountKey().bytes)
        #expect(try SealedWorld.refusal(bytes, keys: AccountKeys(impostor)) == .sealKeyRefused)
        let error = #expect(throws: CloudError.self) {
            try SealedFile(bytes, node: SealedWorld.node, key: ContentKey())
        }
        #expect(error?.code == .sealKeyRefused)
    }

    @Test(arguments: [(8, UInt8(2)), (9, 2), (10, 3), (10, 25), (10, 255), (11, 1)])
    func `versions, algorithms and flags of a later time are told from damage`(index: Int, value: UInt8) async throws {
        var bytes = try await SealedWorld.sealer(data: 5).body.data()
        bytes[index] = value
        #expect(try SealedWorld.refusal(bytes) == .sealedVersionUnknown)
    }

    @Test(arguments: ["", "\u{89}", "hello", String(repeating: "x", count: 400)])
    func `what is no sealed file is told from one that is damaged`(text: String) throws {
        #expect(try SealedWorld.refusal(Data(text.utf8)) == (text.isEmpty ? .sealedTruncated : .notSealed))
    }

    @Test func `sizes that no file can have are refused, also from somebody who has the keys`() throws {
        for size in [UInt64(1) << 57, UInt64.max, UInt64(1) << 63] {
            var preamble = SealedPreamble(exponent: 4, accountKey: SealedWorld.account.id, salt: Data(count: 32))
            let keys = SealedFileKeys(SealedWorld.key, salt: preamble.salt, node: SealedWorld.node)
            let layout = SealedLayout(
                chunkSize: 16,
                sizes: [0, 0, 0, Int64(bitPattern: size)].map { $0 < 0 ? Int64.max : $0 }
            )
            try preamble.sealTable(layout, node: SealedWorld.node, keys: keys, nonce: Data(count: 12))
            try preamble.wrap(SealedWorld.key, with: SealedWorld.account, nonce: Data(count: 12))
            #expect(try SealedWorld.refusal(preamble.bytes) == .sealedMalformed)
        }
    }
}
