import Foundation
import Strata
import StrataCloud
import StrataPipeline
import Testing

/// Encrypted accounts on real servers.
@Suite(.timeLimit(.minutes(3))) struct EncryptedTransferTests {
    /// A machine with an account.
    private struct Machine {
        let stack: ContextStack
        let account: CloudAccount
        let folder: URL

        init(_ remote: any Remote, _ key: AccountKey, _ sections: [ContentSections: Data] = [:], partSize: Int64)
            async throws
        {
            stack = try await ContextStack.open(.inMemory, models: CloudAccount.models, stack: .rootOnly)
            folder = try Scratch.folder("cache")
            account = try await CloudAccount.open(
                stack,
                id: "alice",
                remote: remote,
                handler: Sections(sections: sections),
                options: CloudOptions(
                    encryption: ContentEncryption(key),
                    partSize: partSize,
                    cacheFolder: folder,
                    isSuspended: true
                )
            )
        }

        func commit(_ body: sending @escaping (CloudContext) throws -> Void) async throws {
            try await account.send(body, on: stack)
        }

        func fetch(_ path: TreePath, _ section: ContentSections) async throws -> Data {
            let account = account
            let node = try await stack.background { context in try context.cloud(account).node(at: path).id }
            let file = try await account.downloads.fetch(node, section)
            defer { file.release() }
            return try Data(contentsOf: file.file)
        }

        func close() async throws {
            await account.close()
            try await stack.close()
        }
    }

    private struct Sections: CloudHandler {
        let sections: [ContentSections: Data]
        func content(for request: ContentRequest) async throws -> RemoteBody? {
            sections[request.section].map { RemoteBody($0) }
        }
        func header(for request: ContentRequest) async throws -> EncryptedHeader {
            EncryptedHeader(application: ["kind": "film"])
        }
    }

    @Test("A file encrypted by one machine is decrypted by another, wherever it was moved", arguments: RemoteCase.all)
    func otherMachine(
        kind: RemoteCase
    ) async throws {
        let remote = try await kind.make()
        let part = max(try await remote.capabilities().minimumPartSize ?? 0, 100_000)
        let sections: [ContentSections: Data] = [
            .metadata: bytes(500, seed: 1), .thumbnail: bytes(30_000, seed: 2), .data: bytes(Int(part) * 2, seed: 3),
        ]
        let key = AccountKey()
        let first = try await Machine(remote, key, sections, partSize: part)
        try await first.commit { try $0.createNode(at: "/a/film", sections: [.metadata, .thumbnail, .data]) }
        let second = try await Machine(remote, key, partSize: part)
        try await second.account.pull()
        for (section, bytes) in sections { #expect(try await second.fetch("/a/film", section) == bytes) }
        try await second.commit { cloud in
            try cloud.copy(cloud.node(at: "/a/film"), to: "/copy")
            try cloud.move(cloud.node(at: "/a"), to: "/b")
        }
        try await first.account.pull()
        for path in [TreePath(["copy"]), TreePath(["b", "film"])] {
            #expect(try await first.fetch(path, .thumbnail) == sections[.thumbnail])
            let account = first.account
            let node = try await first.stack.background { context in try context.cloud(account).node(at: path).id }
            #expect(try await account.downloads.header(of: node).application == ["kind": "film"])
        }
        try await first.close()
        try await second.close()
    }

    @Test("Truncated or changed files are refused", arguments: RemoteCase.all)
    func tampered(kind: RemoteCase)
        async throws
    {
        let remote = try await kind.make()
        let key = AccountKey()
        let first = try await Machine(remote, key, [.data: bytes(200_000, seed: 3)], partSize: 16 << 20)
        try await first.commit { try $0.createNode(at: "/film") }
        let place = RemoteKey(["home", "film"])
        let whole = try await remote.data(place)
        var changed = whole
        changed[changed.count - 1] ^= 1
        for (bytes, code) in [
            (whole.prefix(100_000), CloudError.Code.encryptedContentTruncated), (changed, .encryptedContentDamaged),
            (Data("plain".utf8), .notEncrypted),
        ] {
            _ = try await remote.put(RemoteBody(Data(bytes)), at: place, if: .none)
            let second = try await Machine(remote, key, partSize: 16 << 20)
            try await second.account.pull()
            let error = await #expect(throws: CloudError.self) { try await second.fetch("/film", .data) }
            #expect(error?.code == code)
            try await second.close()
        }
        try await first.close()
    }
}
