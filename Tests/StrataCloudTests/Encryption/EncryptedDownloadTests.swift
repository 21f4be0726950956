import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// A download decrypts bytes as they arrive, and reads only the necessary ones. No byte reaches a file unless the same
/// key has encrypted it.
@Suite struct EncryptedDownloadTests {
    @Test("The mark of a section is removed together with those of earlier versions")
    func earlierMarks() async throws {
        let encrypted = try await EncryptedAccountHarness()
        let harness = encrypted.harness
        try await harness.commit { try $0.markNeedsDownload($0.node(at: "/n"), .metadata) }
        try await harness.commit { _ = try $0.upload($0.node(at: "/n"), .data) }
        try await harness.drain()
        try await harness.commit { cloud in
            let node = try cloud.node(at: "/n")
            cloud.markNeedsDownload(node, .metadata)
            #expect(try cloud.context.count(DownloadMark.all) == 2)
            try cloud.unmarkNeedsDownload(node, .metadata, ifETagMatches: node.eTag)
            #expect(try cloud.context.count(DownloadMark.all) == 0)
        }
        await harness.account.close()
    }

    @Test("Another machine with the same key reads each section, and downloads nothing else")
    func sectionsOnly() async throws {
        let first = try await EncryptedAccountHarness()
        let second = try await EncryptedAccountHarness.other(of: first)
        // The first read fetches the first bytes of a file, with all sections that lie within them.
        for (section, cost) in [(ContentSections.metadata, 16_384), (.thumbnail, 20_028), (.data, 300_000 + 5 * 28)] {
            let before = second.remote.state.withLock { $0.given }
            #expect(try await second.fetch(section) == EncryptedAccountHarness.sections[section])
            #expect(second.remote.state.withLock { $0.given } - before == cost)
        }
        #expect(second.verbs("GET").count == 3)
        await first.close()
        await second.close()
    }

    @Test("The header shows facts that only the key can reveal")
    func headerFacts() async throws {
        let handler = TestHandler()
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        handler.state.withLock { $0.header = EncryptedHeader(modifiedAt: date, application: ["kind": "film"]) }
        let first = try await EncryptedAccountHarness(handler: handler)
        let second = try await EncryptedAccountHarness.other(of: first)
        let header = try await second.harness.account.downloads.header(of: second.node)
        #expect(header.isEncrypted && header.application == ["kind": "film"] && header.modifiedAt == date)
        #expect(header.sizes == [.metadata: 300, .thumbnail: 20_000, .data: 300_000])
        #expect(header.eTag == (try await second.harness.read { try $0.node(at: "/n").eTag }))
        #expect(second.remote.state.withLock { $0.given } == 16_384)
        await first.close()
        await second.close()
    }

    @Test("An interrupted download continues inside its chunk, and has decrypted bytes")
    func resumedDownload() async throws {
        let cuts = Mutex(2)
        let remote = StrictRemote { request, _ in
            request.verb == "BODY"
                && cuts.withLock {
                    $0 -= 1
                    return $0 >= 0
                } ? .cut(100_000) : nil
        }
        let first = try await EncryptedAccountHarness(remote)
        #expect(try await first.fetch() == EncryptedAccountHarness.sections[.data])
        let start = try EncryptedFile(
            remote.bytes("home/n"),
            node: ContentEncryption.binding,
            keys: EncryptionFixture.keys
        )
        .encryptedRange(of: .data).lowerBound
        let step = Int64(65_536 + 28)
        #expect(first.verbs("GET") == (0..<3).map { "GET from \(start + Int64($0) * step)" })
        await first.close()
        #expect(first.scratch.partial == [])
    }

    @Test("Cached content is decrypted, and downloaded once")
    func cachedOnce() async throws {
        let machine = try await EncryptedAccountHarness()
        for _ in 0..<3 {
            #expect(try await machine.fetch(.thumbnail, cache: true) == EncryptedAccountHarness.sections[.thumbnail])
        }
        #expect(machine.verbs("GET").count == 1)
        machine.handler.set([.thumbnail: Data("later".utf8)], of: machine.node)
        try await machine.upload(.thumbnail)
        #expect(try await machine.fetch(.thumbnail, cache: true) == Data("later".utf8))
        await machine.close()
    }

    @Test("A section without bytes is absent, and empty content is present")
    func emptySections() async throws {
        let machine = try await EncryptedAccountHarness(sections: [.data: Data()])
        #expect(try await machine.fetch() == Data())
        await #expect(throws: RemoteError.self) { try await machine.fetch(.thumbnail) }
        await machine.close()
    }

    // MARK: Tampering

    enum Harm: CaseIterable {
        case magic, salt, table, header, thumbnail, data, cut, cutToNothing, longer, otherFile, swap
    }

    /// - Parameter isKnown: whether the machine has seen the file before it was changed. The version stays the same.
    @Test("Tampered content is refused, and is written to no file", arguments: Harm.allCases, [true, false])
    func tampered(_ harm: Harm, isKnown: Bool) async throws {
        let first = try await EncryptedAccountHarness()
        let second = isKnown ? first : try await EncryptedAccountHarness.other(of: first)
        let whole = first.remote.bytes("home/n")
        let file = try EncryptedFile(whole, node: ContentEncryption.binding, keys: EncryptionFixture.keys)
        var bytes = whole
        func flip(_ index: Int64) { bytes[Int(index)] ^= 1 }
        let data = file.encryptedRange(of: .data)
        switch harm {
        case .magic: flip(3)
        case .salt: flip(30)
        case .table: flip(150)
        case .header: flip(file.encryptedRange(of: .header).lowerBound + 14)
        case .thumbnail: flip(file.encryptedRange(of: .thumbnail).lowerBound + 100)
        case .data: flip(data.upperBound - 1)
        case .cut: bytes = bytes.prefix(Int(data.upperBound) - 30)
        case .cutToNothing: bytes = Data()
        case .longer: bytes += Data(count: 10)
        case .otherFile:
            // Another file of the same account, with sections of the same sizes.
            let other = try await EncryptedAccountHarness(
                sections: EncryptedAccountHarness.sections.mapValues { Data($0.reversed()) }
            )
            bytes = other.remote.bytes("home/n")
            await other.close()
        case .swap:
            // The first two chunks are exchanged.
            let step = 65_536 + 28
            let start = Int(data.lowerBound)
            bytes =
                whole.prefix(start) + whole[start + step..<start + 2 * step] + whole[start..<start + step]
                + whole[(start + 2 * step)...]
        }
        first.remote.write("home/n", bytes, isNewVersion: false)
        let code = try await second.refusal()
        switch (harm, isKnown) {
        // The download does not read these bytes.
        case (.magic, true), (.salt, true), (.table, true), (.header, _), (.thumbnail, _):
            #expect(code == nil)
        case (.magic, false), (.cutToNothing, false): #expect(code == .notEncrypted)
        case (.salt, false), (.table, false): #expect(code == .encryptionKeyRefused)
        case (.cut, _), (.cutToNothing, true): #expect(code == .encryptedContentTruncated)
        // The other file is genuine and belongs to the account. A machine that has never seen the file cannot detect
        // the exchange.
        case (.otherFile, false): #expect(code == nil)
        default: #expect(code == .encryptedContentDamaged)
        }
        #expect(
            try Self.files(of: second).allSatisfy {
                EncryptedAccountHarness.sections[.data]?.starts(with: $0) ?? false || code == nil
            }
        )
        for machine in [first, second] { await machine.close() }
    }

    /// The files in the folder of a cache, without its index.
    private static func files(of machine: EncryptedAccountHarness) throws -> [Data] {
        var files: [Data] = []
        for name in ["partial", "files/files", "files/temporary"] {
            let folder = machine.scratch.folder.appending(path: name)
            let paths = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.isRegularFileKey])
            for case let file as URL in paths ?? .init()
            where try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile ?? false {
                files.append(try Data(contentsOf: file))
            }
        }
        return files
    }

    // MARK: Keys

    @Test("Content encrypted with an earlier key can be read, and the next upload uses the new key")
    func earlierKey() async throws {
        let first = try await EncryptedAccountHarness()
        let key = AccountKey()
        let keys = AccountKeys(key, earlier: [EncryptionFixture.account])
        let second = try await EncryptedAccountHarness.other(
            of: first,
            encryption: ContentEncryption(key, earlier: [EncryptionFixture.account])
        )
        #expect(try await second.fetch(.metadata) == EncryptedAccountHarness.sections[.metadata])
        second.handler.set(EncryptedAccountHarness.sections, of: second.node)
        let old = try EncryptedFile(first.remote.bytes("home/n"), node: ContentEncryption.binding, keys: keys)
        try await second.upload(.data)
        let new = try EncryptedFile(first.remote.bytes("home/n"), node: ContentEncryption.binding, keys: keys)
        #expect(old.accountKey == EncryptionFixture.account.id && new.accountKey == key.id)
        // An owner of the earlier key may know the content key that this key has wrapped.
        #expect(old.contentKey.bytes != new.contentKey.bytes)
        try await first.harness.account.pull()
        #expect(try await first.refusal() == .accountKeyUnknown)
        await first.close()
        await second.close()
    }

    @Test("A different key with the same name is refused")
    func wrongKey() async throws {
        let first = try await EncryptedAccountHarness()
        let key = try AccountKey(id: EncryptionFixture.account.id, bytes: AccountKey().bytes)
        let second = try await EncryptedAccountHarness.other(of: first, encryption: ContentEncryption(key))
        #expect(try await second.refusal() == .encryptionKeyRefused)
        let error = await #expect(throws: CloudError.self) {
            try await second.harness.account.downloads.header(of: second.node)
        }
        #expect(error?.nodes == [second.node.rawValue] && error?.message.hasPrefix("home/n: ") ?? false)
        await first.close()
        await second.close()
    }

    @Test("An upload that must read content without having its key waits for the key")
    func missingKey() async throws {
        let first = try await EncryptedAccountHarness()
        let keys = Mutex(AccountKeys(AccountKey()))
        let second = try await EncryptedAccountHarness.other(
            of: first,
            encryption: ContentEncryption { keys.withLock { $0 } }
        )
        second.handler.set([.thumbnail: Data([1])], of: second.node)
        try await second.upload(.thumbnail)
        let waiting = try await second.harness.read { try $0.context.fetch(QueuedOperation.all).map(\.constraint) }
        #expect(waiting == ["credentials"])
        keys.withLock { $0 = AccountKeys($0.current, earlier: [EncryptionFixture.account]) }
        try await second.harness.account.credentialsChanged()
        try await second.harness.drain()
        let all = keys.withLock { $0 }
        #expect(try second.opened(.thumbnail, keys: all) == Data([1]))
        #expect(try second.opened(.data, keys: all) == EncryptedAccountHarness.sections[.data])
        await first.close()
        await second.close()
    }

    @Test("An encrypted account is not opened without encryption")
    func noPlainAccount() async throws {
        let machine = try await EncryptedAccountHarness()
        await machine.close()
        let error = await #expect(throws: CloudError.self) {
            _ = try await CloudHarness(machine.remote, stack: machine.harness.stack)
        }
        #expect(error?.code == .encryptionMissing)
        let again = try await CloudHarness(
            machine.remote,
            stack: machine.harness.stack,
            options: CloudOptions(encryption: ContentEncryption(EncryptionFixture.account))
        )
        await again.account.close()
    }

    @Test("Content that was cached before the account was encrypted is not in the cache anymore")
    func cacheBeforeEncryption() async throws {
        let first = try await EncryptedAccountHarness()
        let second = try await EncryptedAccountHarness.other(of: first, encryption: nil)
        #expect(try await second.fetch(cache: true) == first.remote.bytes("home/n"))
        await second.close()
        let again = try await CloudHarness(
            first.remote,
            stack: second.harness.stack,
            options: CloudOptions(
                encryption: ContentEncryption(EncryptionFixture.account),
                cacheFolder: second.scratch.folder
            )
        )
        let file = try await again.account.downloads.fetch(second.node, options: DownloadOptions(cache: true))
        #expect(try Data(contentsOf: file.file) == EncryptedAccountHarness.sections[.data])
        file.release()
        await again.account.close()
        await first.close()
    }

    // MARK: Plain files

    @Test("A plain file is refused, or read as it is if this is allowed", arguments: [true, false])
    func plainFile(
        isRead: Bool
    ) async throws {
        let plain = try await EncryptedAccountHarness(encryption: nil, sections: EncryptedAccountHarness.sections)
        #expect(plain.remote.tree.keys.sorted() == ["home/", "home/n", "home/n%metadata", "home/n%thumbnail"])
        let encryption = ContentEncryption(EncryptionFixture.account, readsPlainFiles: isRead)
        let machine = try await EncryptedAccountHarness.other(of: plain, encryption: encryption)
        for section in ContentSections.given.elements {
            if isRead {
                for _ in 0..<2 {
                    #expect(try await machine.fetch(section, cache: true) == EncryptedAccountHarness.sections[section])
                }
            } else {
                #expect(try await machine.refusal(section) == .notEncrypted)
            }
        }
        // There is one request for the first bytes, and one per section.
        if isRead { #expect(machine.verbs("GET").count == 4) }
        // The next upload encrypts the file, and leaves no plain bytes.
        machine.handler.set([.thumbnail: Data([1])], of: machine.node)
        try await machine.upload(.thumbnail)
        if isRead {
            #expect(machine.remote.tree.keys.sorted() == ["home/", "home/n"])
            #expect(try machine.opened(.data) == EncryptedAccountHarness.sections[.data])
            #expect(try machine.opened(.metadata) == EncryptedAccountHarness.sections[.metadata])
            #expect(try await machine.fetch(.thumbnail, cache: true) == Data([1]))
        } else {
            #expect(
                try await machine.harness.read { try $0.context.fetch(QueuedOperation.all).map(\.status) } == [.failed]
            )
            #expect(machine.remote.bytes("home/n") == EncryptedAccountHarness.sections[.data])
        }
        await plain.close()
        await machine.close()
    }

    // MARK: Marks

    @Test("Each marked section arrives, and its mark is removed", arguments: [true, false])
    func markedSections(
        isEncrypted: Bool
    ) async throws {
        let encryption = isEncrypted ? ContentEncryption(EncryptionFixture.account) : nil
        // The file does not have a thumbnail.
        let first = try await EncryptedAccountHarness(
            encryption: encryption,
            sections: [.metadata: Data("some metadata".utf8), .data: Data("the data".utf8)]
        )
        let second = try await EncryptedAccountHarness.other(of: first, encryption: encryption, download: .all)
        try await second.harness.commit { cloud in cloud.markNeedsDownload(try cloud.node(at: "/n")) }
        try await second.harness.account.downloadMarked()
        let downloaded = second.handler.state.withLock { $0.downloaded }
        #expect(Set(downloaded) == ["header of /n: - 8", "/n: some metadata", "/n: the data"])
        #expect(try await second.harness.read { try $0.nodesMarkedForDownload().isEmpty })
        _ = second.handler.pulled()
        // If one file holds all sections, a later version marks all of them.
        first.handler.set([.metadata: Data("later".utf8), .data: Data("the data".utf8)], of: first.node)
        try await first.upload(.metadata)
        try await second.harness.account.pull()
        #expect(
            second.handler.pulled()
                == [isEncrypted ? "modified /n: header, metadata, thumbnail, data" : "modified /n: metadata"]
        )
        try await second.harness.commit { cloud in cloud.markNeedsDownload(try cloud.node(at: "/n"), .metadata) }
        try await second.harness.account.downloadMarked()
        #expect(second.handler.state.withLock { $0.downloaded }.contains("/n: later"))
        #expect(try await second.harness.read { try $0.nodesMarkedForDownload().isEmpty })
        await first.close()
        await second.close()
    }
}
