import Foundation
import Testing

@testable import StrataCloud

@Suite struct EncryptionResumptionTests {
    private static let data = EncryptionFixture.bytes(50, 3)

    private static func resumed(_ ticket: UploadState, data: EncryptionSource = .data(data)) throws -> ContentEncryptor
    {
        let kept = try JSONDecoder().decode(UploadState.self, from: JSONEncoder().encode(ticket))
        return try ContentEncryptor(
            resuming: kept,
            data: data,
            node: EncryptionFixture.node,
            keys: EncryptionFixture.keys
        )
    }

    @Test("Parts of any size that were encrypted at different times form one file")
    func partsAtDifferentTimes() async throws {
        let first = try EncryptionFixture.encryptor(data: 50)
        let whole = try await first.body.data()
        let size = first.body.size
        for part in [Int64(1), 7, 44, 45, 100, 212, 213, 300, size] {
            var bytes = Data()
            for start in stride(from: 0, to: size, by: Int64.Stride(part)) {
                let encryptor = try Self.resumed(first.uploadState)
                bytes += try await encryptor.body.part(start..<min(size, start + part)).data()
            }
            #expect(bytes == whole)
        }
    }

    @Test("Any range of an encrypted file equals that range of the whole file")
    func anyRange() async throws {
        let encryptor = try EncryptionFixture.encryptor(metadata: 17, thumbnail: 0, data: 20)
        let whole = try await encryptor.body.data()
        for start in stride(from: 0, through: whole.count, by: 5) {
            for end in stride(from: start, through: whole.count, by: 11) {
                let part = try await encryptor.body.part(Int64(start)..<Int64(end)).data()
                #expect(part == whole[start..<end])
            }
        }
    }

    @Test("Two files with the same content share no bytes")
    func sameContent() async throws {
        let one = try await EncryptionFixture.encryptor(data: 50).body.data()
        let other = try await EncryptionFixture.encryptor(data: 50).body.data()
        #expect(one.dropFirst(212) != other.dropFirst(212))
        #expect(one[28..<60] != other[28..<60])
    }

    @Test("Other content under the same upload state is refused")
    func otherContent() throws {
        let ticket = try EncryptionFixture.encryptor(data: 50).uploadState
        for other in [EncryptionFixture.bytes(50, 4), EncryptionFixture.bytes(49, 3), Data()] {
            let error = #expect(throws: CloudError.self) { try Self.resumed(ticket, data: .data(other)) }
            #expect(error?.code == .encryptionSourceChanged)
        }
    }

    @Test("An upload state is valid for its own node and account only")
    func stateIsBound() throws {
        let ticket = try EncryptionFixture.encryptor(data: 50).uploadState
        for (node, keys) in [("alice/43", EncryptionFixture.keys), (EncryptionFixture.node, AccountKeys(AccountKey()))]
        {
            #expect(throws: CloudError.self) {
                try ContentEncryptor(resuming: ticket, data: .data(Self.data), node: node, keys: keys)
            }
        }
    }

    @Test("A damaged upload state is refused")
    func damagedState() throws {
        let ticket = try EncryptionFixture.encryptor(data: 50).uploadState
        for index in ticket.head.indices {
            var head = ticket.head
            head[index] ^= 1
            let damaged = UploadState(head: head, fingerprints: ticket.fingerprints)
            #expect(throws: CloudError.self) { try Self.resumed(damaged) }
        }
        #expect(throws: CloudError.self) { try Self.resumed(UploadState(head: ticket.head, fingerprints: [])) }
        #expect(throws: CloudError.self) {
            try Self.resumed(UploadState(head: Data(), fingerprints: ticket.fingerprints))
        }
    }

    @Test("A truncated upload state is refused, also with a header longer than the first read")
    func truncatedState() throws {
        for length in [0, 15_000] {
            let header = EncryptedHeader(application: ["t": String(repeating: "x", count: length)])
            let ticket = try ContentEncryptor(
                header,
                data: .data(Self.data),
                key: EncryptionFixture.key,
                node: EncryptionFixture.node,
                keys: EncryptionFixture.keys,
                chunkSize: 16
            ).uploadState
            for count in stride(from: 0, to: ticket.head.count, by: 97) {
                let cut = UploadState(head: ticket.head.prefix(count), fingerprints: ticket.fingerprints)
                #expect(throws: CloudError.self) { try Self.resumed(cut) }
            }
            let longer = UploadState(head: ticket.head + [0], fingerprints: ticket.fingerprints)
            #expect(throws: CloudError.self) { try Self.resumed(longer) }
        }
    }

    @Test("An upload state contains no secret")
    func noSecrets() throws {
        let encryptor = try ContentEncryptor(
            EncryptedHeader(application: ["secret": "secret"]),
            data: .data(Self.data),
            key: EncryptionFixture.key,
            node: EncryptionFixture.node,
            keys: EncryptionFixture.keys
        )
        let ticket = encryptor.uploadState
        for secret in [EncryptionFixture.key.bytes, EncryptionFixture.account.bytes, Data("secret".utf8)] {
            #expect(ticket.head.range(of: secret) == nil)
        }
    }

    @Test("A change of a file is noticed while the file is read and when encryption continues")
    func changedFile()
        async throws
    {
        let file = FileManager.default.temporaryDirectory.appending(path: "sealed-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Self.data.write(to: file)
        let encryptor = try ContentEncryptor(
            data: .file(file),
            key: EncryptionFixture.key,
            node: EncryptionFixture.node,
            keys: EncryptionFixture.keys,
            chunkSize: 16
        )
        let whole = try await encryptor.body.data()
        #expect(try EncryptionFixture.openAll(whole).sections[3] == Self.data)
        #expect(try await Self.resumed(encryptor.uploadState, data: .file(file)).body.data() == whole)

        // The file has the same size. It is written atomically, so it is another file.
        try EncryptionFixture.bytes(50, 9).write(to: file, options: .atomic)
        var error = await #expect(throws: CloudError.self) { try await encryptor.body.data() }
        #expect(error?.code == .encryptionSourceChanged)
        error = #expect(throws: CloudError.self) { try Self.resumed(encryptor.uploadState, data: .file(file)) }
        #expect(error?.code == .encryptionSourceChanged)
    }

    @Test("A body with more or fewer bytes than announced is refused")
    func wrongLength() async throws {
        for size in [49, 51] {
            let body = RemoteBody(size: Int64(size)) { range in
                EncryptionFixture.stream(Self.data.dropFirst(Int(range.lowerBound)), pieces: 9)
            }
            let encryptor = try ContentEncryptor(
                data: .body(body, version: nil),
                key: EncryptionFixture.key,
                node: EncryptionFixture.node,
                keys: EncryptionFixture.keys,
                chunkSize: 16
            )
            await #expect(throws: RemoteError.self) { try await encryptor.body.data() }
        }
    }

    @Test("No nonce is used twice, even if a change is not noticed")
    func nonces() async throws {
        func body(_ data: Data) -> EncryptionSource { .body(RemoteBody(data), version: "the same") }
        let encryptor = try ContentEncryptor(
            data: body(EncryptionFixture.bytes(160)),
            key: EncryptionFixture.key,
            node: EncryptionFixture.node,
            keys: EncryptionFixture.keys,
            chunkSize: 16
        )
        let one = try await encryptor.body.data()
        var changed = EncryptionFixture.bytes(160)
        changed[40] ^= 1
        let other = try await Self.resumed(encryptor.uploadState, data: body(changed)).body.data()
        let file = try EncryptedFile(one, node: EncryptionFixture.node, keys: EncryptionFixture.keys)
        for chunk in 0..<Int64(10) {
            let range = file.layout.encryptedRange(of: .data, chunks: chunk..<chunk + 1)
            let boxes = [one, other].map { $0[Int(range.lowerBound)..<Int(range.upperBound)] }
            #expect((boxes[0] == boxes[1]) == (chunk != 2))
            #expect((boxes[0].prefix(12) == boxes[1].prefix(12)) == (chunk != 2))
        }
    }

    @Test("A new account key wraps the content key, and changes nothing else")
    func newAccountKey() async throws {
        let old = try await EncryptionFixture.encryptor(metadata: 5, data: 50).body.data()
        let file = try EncryptedFile(old, node: EncryptionFixture.node, keys: EncryptionFixture.keys)
        let keys = AccountKeys(AccountKey(), earlier: [EncryptionFixture.account])
        #expect(try EncryptionFixture.refusal(old, keys: keys) == nil)
        let body = try file.rewrapped(RemoteBody(old), with: keys)
        let new = try await body.data()
        #expect(new.dropFirst(212) == old.dropFirst(212))
        #expect(try EncryptionFixture.refusal(new) == .accountKeyUnknown)
        #expect(try EncryptionFixture.refusal(new, keys: AccountKeys(keys.current)) == nil)
        #expect(
            try EncryptedFile(new, node: EncryptionFixture.node, keys: keys).contentKey.bytes
                == EncryptionFixture.key.bytes
        )
        #expect(try await body.part(200..<230).data() == new[200..<230])
        #expect(throws: CloudError.self) { try file.rewrapped(RemoteBody(old.dropLast()), with: keys) }
    }

    @Test("A holder of a node's key can read that node, and no other")
    func nodeKey() async throws {
        let bytes = try await EncryptionFixture.encryptor(data: 50).body.data()
        let given = try ContentKey(bytes: EncryptionFixture.key.bytes)
        let file = try EncryptedFile(bytes, node: EncryptionFixture.node, key: given)
        #expect(try file.open(.data, in: bytes[Int(file.encryptedRange(of: .data).lowerBound)...]) == Self.data)
        let other = try await EncryptionFixture.encryptor(data: 50, key: ContentKey()).body.data()
        #expect(throws: CloudError.self) { try EncryptedFile(other, node: EncryptionFixture.node, key: given) }
    }
}
