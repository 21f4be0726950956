import Foundation
import Testing

@testable import StrataCloud

@Suite struct EncryptionRoundTripTests {
    @Test("Content of all sizes around the borders of chunks survives encryption")
    func chunkBorders() async throws {
        for data in 0...50 {
            let metadata = (data * 3) % 37
            let thumbnail = (data * 5) % 34
            let encryptor = try EncryptionFixture.encryptor(metadata: metadata, thumbnail: thumbnail, data: data)
            let bytes = try await encryptor.body.data()
            let (header, sections) = try EncryptionFixture.openAll(bytes)
            #expect(sections[1] == EncryptionFixture.content(.metadata, metadata))
            #expect(sections[2] == EncryptionFixture.content(.thumbnail, thumbnail))
            #expect(sections[3] == EncryptionFixture.content(.data, data))
            #expect(
                header?.sizes == [.metadata: Int64(metadata), .thumbnail: Int64(thumbnail), .data: Int64(data)]
            )
        }
    }

    @Test("Any range of a section is decrypted from the chunks that contain it")
    func ranges() async throws {
        let whole = EncryptionFixture.content(.data, 50)
        let bytes = try await EncryptionFixture.encryptor(metadata: 20, thumbnail: 3, data: 50).body.data()
        let file = try EncryptedFile(bytes.prefix(212), node: EncryptionFixture.node, keys: EncryptionFixture.keys)
        for start in 0...50 {
            for end in start...50 {
                let range = Int64(start)..<Int64(end)
                let sealed = file.encryptedRange(of: .data, range)
                let chunks = start == end ? 0 : (end - 1) / 16 - start / 16 + 1
                #expect(sealed.count <= chunks * 44)
                let part = bytes[Int(sealed.lowerBound)..<Int(sealed.upperBound)]
                #expect(try file.open(.data, range, in: part) == whole[start..<end])
            }
        }
        #expect(try file.open(.data, -5..<900, in: bytes[Int(file.encryptedRange(of: .data).lowerBound)...]) == whole)
    }

    @Test(
        "Chunks are decrypted as they arrive, in pieces of any size",
        arguments: [1, 2, 3, 16, 28, 43, 44, 45, 88, 1000]
    )
    func chunksInPieces(pieces: Int) async throws {
        let whole = EncryptionFixture.content(.data, 50)
        let bytes = try await EncryptionFixture.encryptor(data: 50).body.data()
        let file = try EncryptedFile(bytes, node: EncryptionFixture.node, keys: EncryptionFixture.keys)
        for range: Range<Int64> in [0..<50, 0..<16, 15..<17, 16..<50, 49..<50, 20..<20] {
            let sealed = file.encryptedRange(of: .data, range)
            let part = bytes[Int(sealed.lowerBound)..<Int(sealed.upperBound)]
            let opened = file.open(.data, range, in: EncryptionFixture.stream(part, pieces: pieces))
            #expect(try await EncryptionFixture.collect(opened) == whole[Int(range.lowerBound)..<Int(range.upperBound)])
        }
    }

    @Test("The answer of a remote is decrypted if it is the requested range")
    func answerRange() async throws {
        let bytes = try await EncryptionFixture.encryptor(data: 50).body.data()
        let file = try EncryptedFile(bytes, node: EncryptionFixture.node, keys: EncryptionFixture.keys)
        func download(_ range: Range<Int64>, size: Int64) -> RemoteDownload {
            RemoteDownload(
                object: RemoteObject(key: RemoteKey(["a"]), size: size),
                range: range,
                chunks: EncryptionFixture.stream(bytes[Int(range.lowerBound)..<Int(range.upperBound)], pieces: 10)
            )
        }
        let wanted = file.encryptedRange(of: .data, 3..<20)
        let opened = try file.open(.data, 3..<20, in: download(wanted, size: file.size))
        #expect(try await EncryptionFixture.collect(opened) == EncryptionFixture.content(.data, 50)[3..<20])
        #expect(throws: CloudError.self) { try file.open(.data, 3..<20, in: download(0..<10, size: file.size)) }
        #expect(throws: CloudError.self) { try file.open(.data, 3..<20, in: download(wanted, size: file.size - 1)) }
    }

    @Test("The header contains the given values")
    func headerRoundTrip() async throws {
        let header = EncryptedHeader(
            createdAt: Date(timeIntervalSince1970: 1_700_000_000.123),
            modifiedAt: nil,
            application: ["kind": "note", "é": "\"/\n"]
        )
        let encryptor = try ContentEncryptor(
            header,
            data: .data(Data("hello".utf8)),
            key: EncryptionFixture.key,
            node: EncryptionFixture.node,
            keys: EncryptionFixture.keys
        )
        let bytes = try await encryptor.body.data()
        let file = try EncryptedFile(bytes, node: EncryptionFixture.node, keys: EncryptionFixture.keys)
        let opened = try #require(try file.header(in: bytes.prefix(Int(EncryptedFile.firstRead))))
        #expect(opened.createdAt == header.createdAt)
        #expect(opened.modifiedAt == nil)
        #expect(opened.application == header.application)
        #expect(opened.sizes[.data] == 5)
    }

    @Test("The largest header fits into the first read")
    func largestHeader() async throws {
        let text = String(repeating: "x", count: 15_880)
        let encryptor = try ContentEncryptor(
            EncryptedHeader(application: ["t": text]),
            data: .data(EncryptionFixture.bytes(100_000)),
            key: EncryptionFixture.key,
            node: EncryptionFixture.node,
            keys: EncryptionFixture.keys
        )
        let start = try await encryptor.body.part(0..<EncryptedFile.firstRead).data()
        let file = try EncryptedFile(start, node: EncryptionFixture.node, keys: EncryptionFixture.keys)
        #expect(try file.header(in: start)?.application["t"] == text)
        #expect(throws: CloudError.self) {
            try ContentEncryptor(
                EncryptedHeader(application: ["t": text + text]),
                key: EncryptionFixture.key,
                node: EncryptionFixture.node,
                keys: EncryptionFixture.keys
            )
        }
    }

    @Test(
        "Chunks of other sizes are refused",
        arguments: [0, 1, 8, 15, 17, 24, 65_537, 1 << 25, -16, Int.max, Int.min]
    )
    func chunkSizes(size: Int) throws {
        #expect(throws: CloudError.self) {
            try ContentEncryptor(key: EncryptionFixture.key, node: "n", keys: EncryptionFixture.keys, chunkSize: size)
        }
    }

    @Test("Keys of other lengths are refused")
    func keyLengths() {
        #expect(throws: CloudError.self) { try AccountKey(id: UUID(), bytes: Data(count: 31)) }
        #expect(throws: CloudError.self) { try ContentKey(bytes: Data(count: 33)) }
    }

    @Test("Dates that milliseconds cannot represent are refused")
    func dates() {
        #expect(throws: CloudError.self) {
            try ContentEncryptor(
                EncryptedHeader(createdAt: Date(timeIntervalSince1970: .infinity)),
                key: EncryptionFixture.key,
                node: "n",
                keys: EncryptionFixture.keys
            )
        }
    }
}
