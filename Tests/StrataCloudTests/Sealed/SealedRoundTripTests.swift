import Foundation
import Testing

@testable import StrataCloud

@Suite struct SealedRoundTripTests {
    @Test func `what is sealed comes back, for all sizes around the borders of chunks`() async throws {
        for data in 0...50 {
            let metadata = (data * 3) % 37
            let thumbnail = (data * 5) % 34
            let sealer = try SealedWorld.sealer(metadata: metadata, thumbnail: thumbnail, data: data)
            let bytes = try await sealer.body.data()
            let (header, sections) = try SealedWorld.openAll(bytes)
            #expect(sections[1] == SealedWorld.content(.metadata, metadata))
            #expect(sections[2] == SealedWorld.content(.thumbnail, thumbnail))
            #expect(sections[3] == SealedWorld.content(.data, data))
            #expect(
                header?.sizes == [.metadata: Int64(metadata), .thumbnail: Int64(thumbnail), .data: Int64(data)]
            )
        }
    }

    @Test func `any range of a section is opened from the chunks that hold it`() async throws {
        let whole = SealedWorld.content(.data, 50)
        let bytes = try await SealedWorld.sealer(metadata: 20, thumbnail: 3, data: 50).body.data()
        let file = try SealedFile(bytes.prefix(212), node: SealedWorld.node, keys: SealedWorld.keys)
        for start in 0...50 {
            for end in start...50 {
                let range = Int64(start)..<Int64(end)
                let sealed = file.sealedRange(of: .data, range)
                let chunks = start == end ? 0 : (end - 1) / 16 - start / 16 + 1
                #expect(sealed.count <= chunks * 44)
                let part = bytes[Int(sealed.lowerBound)..<Int(sealed.upperBound)]
                #expect(try file.open(.data, range, in: part) == whole[start..<end])
            }
        }
        #expect(try file.open(.data, -5..<900, in: bytes[Int(file.sealedRange(of: .data).lowerBound)...]) == whole)
    }

    @Test(arguments: [1, 2, 3, 16, 28, 43, 44, 45, 88, 1000])
    func `chunks are opened as they arrive, in pieces of any size`(pieces: Int) async throws {
        let whole = SealedWorld.content(.data, 50)
        let bytes = try await SealedWorld.sealer(data: 50).body.data()
        let file = try SealedFile(bytes, node: SealedWorld.node, keys: SealedWorld.keys)
        for range: Range<Int64> in [0..<50, 0..<16, 15..<17, 16..<50, 49..<50, 20..<20] {
            let sealed = file.sealedRange(of: .data, range)
            let part = bytes[Int(sealed.lowerBound)..<Int(sealed.upperBound)]
            let opened = file.open(.data, range, in: SealedWorld.stream(part, pieces: pieces))
            #expect(try await SealedWorld.collect(opened) == whole[Int(range.lowerBound)..<Int(range.upperBound)])
        }
    }

    @Test func `the answer of a remote is opened if it is the range that was asked for`() async throws {
        let bytes = try await SealedWorld.sealer(data: 50).body.data()
        let file = try SealedFile(bytes, node: SealedWorld.node, keys: SealedWorld.keys)
        func download(_ range: Range<Int64>, size: Int64) -> RemoteDownload {
            RemoteDownload(
                object: RemoteObject(key: RemoteKey(["a"]), size: size),
                range: range,
                chunks: SealedWorld.stream(bytes[Int(range.lowerBound)..<Int(range.upperBound)], pieces: 10)
            )
        }
        let wanted = file.sealedRange(of: .data, 3..<20)
        let opened = try file.open(.data, 3..<20, in: download(wanted, size: file.size))
        #expect(try await SealedWorld.collect(opened) == SealedWorld.content(.data, 50)[3..<20])
        #expect(throws: CloudError.self) { try file.open(.data, 3..<20, in: download(0..<10, size: file.size)) }
        #expect(throws: CloudError.self) { try file.open(.data, 3..<20, in: download(wanted, size: file.size - 1)) }
    }

    @Test func `the header says what was given`() async throws {
        let header = SealedHeader(
            createdAt: Date(timeIntervalSince1970: 1_700_000_000.123),
            modifiedAt: nil,
            application: ["kind": "note", "é": "\"/\n"]
        )
        let sealer = try Sealer(
            header,
            data: .data(Data("hello".utf8)),
            key: SealedWorld.key,
            node: SealedWorld.node,
            keys: SealedWorld.keys
        )
        let bytes = try await sealer.body.data()
        let file = try SealedFile(bytes, node: SealedWorld.node, keys: SealedWorld.keys)
        let opened = try #require(try file.header(in: bytes.prefix(Int(SealedFile.firstRead))))
        #expect(opened.createdAt == header.createdAt)
        #expect(opened.modifiedAt == nil)
        #expect(opened.application == header.application)
        #expect(opened.sizes[.data] == 5)
    }

    @Test func `the largest header lies within the first read`() async throws {
        let text = String(repeating: "x", count: 15_880)
        let sealer = try Sealer(
            SealedHeader(application: ["t": text]),
            data: .data(SealedWorld.bytes(100_000)),
            key: SealedWorld.key,
            node: SealedWorld.node,
            keys: SealedWorld.keys
        )
        let start = try await sealer.body.part(0..<SealedFile.firstRead).data()
        let file = try SealedFile(start, node: SealedWorld.node, keys: SealedWorld.keys)
        #expect(try file.header(in: start)?.application["t"] == text)
        #expect(throws: CloudError.self) {
            try Sealer(
                SealedHeader(application: ["t": text + text]),
                key: SealedWorld.key,
                node: SealedWorld.node,
                keys: SealedWorld.keys
            )
        }
    }

    @Test(arguments: [0, 1, 8, 15, 17, 24, 65_537, 1 << 25, -16, Int.max, Int.min])
    func `chunks of other sizes are refused`(size: Int) throws {
        #expect(throws: CloudError.self) {
            try Sealer(key: SealedWorld.key, node: "n", keys: SealedWorld.keys, chunkSize: size)
        }
    }

    @Test func `keys of another length are refused`() {
        #expect(throws: CloudError.self) { try AccountKey(id: UUID(), bytes: Data(count: 31)) }
        #expect(throws: CloudError.self) { try ContentKey(bytes: Data(count: 33)) }
    }

    @Test func `dates that no number of milliseconds says are refused`() {
        #expect(throws: CloudError.self) {
            try Sealer(
                SealedHeader(createdAt: Date(timeIntervalSince1970: .infinity)),
                key: SealedWorld.key,
                node: "n",
                keys: SealedWorld.keys
            )
        }
    }
}
