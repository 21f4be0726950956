import Foundation
import Testing

@testable import StrataCloud

@Suite struct SealedResumptionTests {
    private static let data = SealedWorld.bytes(50, 3)

    private static func resumed(_ ticket: SealTicket, data: SealSource = .data(data)) throws -> Sealer {
        let kept = try JSONDecoder().decode(SealTicket.self, from: JSONEncoder().encode(ticket))
        return try Sealer(resuming: kept, data: data, node: SealedWorld.node, keys: SealedWorld.keys)
    }

    @Test func `parts of any size that were sealed at different times make one file`() async throws {
        let first = try SealedWorld.sealer(data: 50)
        let whole = try await first.body.data()
        let size = first.body.size
        for part in [Int64(1), 7, 44, 45, 100, 212, 213, 300, size] {
            var bytes = Data()
            for start in stride(from: 0, to: size, by: Int64.Stride(part)) {
                let sealer = try Self.resumed(first.ticket)
                bytes += try await sealer.body.part(start..<min(size, start + part)).data()
            }
            #expect(bytes == whole)
        }
    }

    @Test func `any range of a sealed file is the same as that of the whole`() async throws {
        let sealer = try SealedWorld.sealer(metadata: 17, thumbnail: 0, data: 20)
        let whole = try await sealer.body.data()
        for start in stride(from: 0, through: whole.count, by: 5) {
            for end in stride(from: start, through: whole.count, by: 11) {
                let part = try await sealer.body.part(Int64(start)..<Int64(end)).data()
                #expect(part == whole[start..<end])
            }
        }
    }

    @Test func `two files of the same content have nothing in common`() async throws {
        let one = try await SealedWorld.sealer(data: 50).body.data()
        let other = try await SealedWorld.sealer(data: 50).body.data()
        #expect(one.dropFirst(212) != other.dropFirst(212))
        #expect(one[28..<60] != other[28..<60])
    }

    @Test func `other content under the same ticket is refused`() throws {
        let ticket = try SealedWorld.sealer(data: 50).ticket
        for other in [SealedWorld.bytes(50, 4), SealedWorld.bytes(49, 3), Data()] {
            let error = #expect(throws: CloudError.self) { try Self.resumed(ticket, data: .data(other)) }
            #expect(error?.code == .sealSourceChanged)
        }
    }

    @Test func `a ticket opens for its own node and account only`() throws {
        let ticket = try SealedWorld.sealer(data: 50).ticket
        for (node, keys) in [("alice/43", SealedWorld.keys), (SealedWorld.node, AccountKeys(AccountKey()))] {
            #expect(throws: CloudError.self) {
                try Sealer(resuming: ticket, data: .data(Self.data), node: node, keys: keys)
            }
        }
    }

    @Test func `damaged tickets are refused`() throws {
        let ticket = try SealedWorld.sealer(data: 50).ticket
        for index in ticket.head.indices {
            var head = ticket.head
            head[index] ^= 1
            let damaged = SealTicket(head: head, fingerprints: ticket.fingerprints)
            #expect(throws: CloudError.self) { try Self.resumed(damaged) }
        }
        #expect(throws: CloudError.self) { try Self.resumed(SealTicket(head: ticket.head, fingerprints: [])) }
        #expect(throws: CloudError.self) {
            try Self.resumed(SealTicket(head: Data(), fingerprints: ticket.fingerprints))
        }
    }

    @Test func `tickets that were cut short are refused, also with a header that is longer than the first read`() throws
    {
        for length in [0, 15_000] {
            let header = SealedHeader(application: ["t": String(repeating: "x", count: length)])
            let ticket = try Sealer(
                header,
                data: .data(Self.data),
                key: SealedWorld.key,
                node: SealedWorld.node,
                keys: SealedWorld.keys,
                chunkSize: 16
            ).ticket
            for count in stride(from: 0, to: ticket.head.count, by: 97) {
                let cut = SealTicket(head: ticket.head.prefix(count), fingerprints: ticket.fingerprints)
                #expect(throws: CloudError.self) { try Self.resumed(cut) }
            }
            let longer = SealTicket(head: ticket.head + [0], fingerprints: ticket.fingerprints)
            #expect(throws: CloudError.self) { try Self.resumed(longer) }
        }
    }

    @Test func `a ticket holds no secret`() throws {
        let sealer = try Sealer(
            SealedHeader(application: ["secret": "secret"]),
            data: .data(Self.data),
            key: SealedWorld.key,
            node: SealedWorld.node,
            keys: SealedWorld.keys
        )
        let ticket = sealer.ticket
        for secret in [SealedWorld.key.bytes, SealedWorld.account.bytes, Data("secret".utf8)] {
            #expect(ticket.head.range(of: secret) == nil)
        }
    }

    @Test func `a file is sealed, and a change of it is noticed while it is read and when sealing goes on`()
        async throws
    {
        let file = FileManager.default.temporaryDirectory.appending(path: "sealed-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Self.data.write(to: file)
        let sealer = try Sealer(
            data: .file(file),
            key: SealedWorld.key,
            node: SealedWorld.node,
            keys: SealedWorld.keys,
            chunkSize: 16
        )
        let whole = try await sealer.body.data()
        #expect(try SealedWorld.openAll(whole).sections[3] == Self.data)
        #expect(try await Self.resumed(sealer.ticket, data: .file(file)).body.data() == whole)

        // The file has the same size. It is written atomically, so it is another file.
        try SealedWorld.bytes(50, 9).write(to: file, options: .atomic)
        var error = await #expect(throws: CloudError.self) { try await sealer.body.data() }
        #expect(error?.code == .sealSourceChanged)
        error = #expect(throws: CloudError.self) { try Self.resumed(sealer.ticket, data: .file(file)) }
        #expect(error?.code == .sealSourceChanged)
    }

    @Test func `bodies with more or fewer bytes than they say are refused`() async throws {
        for size in [49, 51] {
            let body = RemoteBody(size: Int64(size)) { range in
                SealedWorld.stream(Self.data.dropFirst(Int(range.lowerBound)), pieces: 9)
            }
            let sealer = try Sealer(
                data: .body(body, version: nil),
                key: SealedWorld.key,
                node: SealedWorld.node,
                keys: SealedWorld.keys,
                chunkSize: 16
            )
            await #expect(throws: RemoteError.self) { try await sealer.body.data() }
        }
    }

    @Test func `even where a change is not noticed no nonce is used twice`() async throws {
        func body(_ data: Data) -> SealSource { .body(RemoteBody(data), version: "the same") }
        let sealer = try Sealer(
            data: body(SealedWorld.bytes(160)),
            key: SealedWorld.key,
            node: SealedWorld.node,
            keys: SealedWorld.keys,
            chunkSize: 16
        )
        let one = try await sealer.body.data()
        var changed = SealedWorld.bytes(160)
        changed[40] ^= 1
        let other = try await Self.resumed(sealer.ticket, data: body(changed)).body.data()
        let file = try SealedFile(one, node: SealedWorld.node, keys: SealedWorld.keys)
        for chunk in 0..<Int64(10) {
            let range = file.layout.sealedRange(of: .data, chunks: chunk..<chunk + 1)
            let boxes = [one, other].map { $0[Int(range.lowerBound)..<Int(range.upperBound)] }
            #expect((boxes[0] == boxes[1]) == (chunk != 2))
            #expect((boxes[0].prefix(12) == boxes[1].prefix(12)) == (chunk != 2))
        }
    }

    @Test func `a new account key wraps the content key, and nothing else changes`() async throws {
        let old = try await SealedWorld.sealer(metadata: 5, data: 50).body.data()
        let file = try SealedFile(old, node: SealedWorld.node, keys: SealedWorld.keys)
        let keys = AccountKeys(AccountKey(), earlier: [SealedWorld.account])
        #expect(try SealedWorld.refusal(old, keys: keys) == nil)
        let body = try file.rewrapped(RemoteBody(old), with: keys)
        let new = try await body.data()
        #expect(new.dropFirst(212) == old.dropFirst(212))
        #expect(try SealedWorld.refusal(new) == .accountKeyUnknown)
        #expect(try SealedWorld.refusal(new, keys: AccountKeys(keys.current)) == nil)
        #expect(try SealedFile(new, node: SealedWorld.node, keys: keys).contentKey.bytes == SealedWorld.key.bytes)
        #expect(try await body.part(200..<230).data() == new[200..<230])
        #expect(throws: CloudError.self) { try file.rewrapped(RemoteBody(old.dropLast()), with: keys) }
    }

    @Test func `whoever was given the key of the node opens it, and no other node`() async throws {
        let bytes = try await SealedWorld.sealer(data: 50).body.data()
        let given = try ContentKey(bytes: SealedWorld.key.bytes)
        let file = try SealedFile(bytes, node: SealedWorld.node, key: given)
        #expect(try file.open(.data, in: bytes[Int(file.sealedRange(of: .data).lowerBound)...]) == Self.data)
        let other = try await SealedWorld.sealer(data: 50, key: ContentKey()).body.data()
        #expect(throws: CloudError.self) { try SealedFile(other, node: SealedWorld.node, key: given) }
    }
}
