import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// A download decrypts bytes as they arrive, and reads only the necessary ones. No byte reaches a file unless the same
/// key has encrypted it.
@Suite struct SealedDownloadTests {
    @Test func `the mark of a section goes with those of its earlier versions`() async throws {
        let world = try await SealedStage()
        let stage = world.stage
        try await stage.commit { try $0.markNeedsDownload($0.node(at: "/n"), .metadata) }
        try await stage.commit { _ = try $0.upload($0.node(at: "/n"), .data) }
        try await stage.drain()
        try await stage.commit { cloud in
            let node = try cloud.node(at: "/n")
            cloud.markNeedsDownload(node, .metadata)
            #expect(try cloud.context.count(DownloadMark.all) == 2)
            try cloud.unmarkNeedsDownload(node, .metadata, ifETagMatches: node.eTag)
            #expect(try cloud.context.count(DownloadMark.all) == 0)
        }
        await stage.account.close()
    }

    @Test func `another machine with the same key reads each section, and fetches no more than that`() async throws {
        let first = try await SealedStage()
        let second = try await SealedStage.other(of: first)
        // The first read fetches the first bytes of a file, with all sections that lie within them.
        for (section, cost) in [(ContentSections.metadata, 16_384), (.thumbnail, 20_028), (.data, 300_000 + 5 * 28)] {
            let before = second.remote.state.withLock { $0.given }
            #expect(try await second.fetch(section) == SealedStage.sections[section])
            #expect(second.remote.state.withLock { $0.given } - before == cost)
        }
        #expect(second.verbs("GET").count == 3)
        await first.close()
        await second.close()
    }

    @Test func `the header says what only the key can tell`() async throws {
        let handler = TestHandler()
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        handler.state.withLock { $0.header = SealedHeader(modifiedAt: date, application: ["kind": "film"]) }
        let first = try await SealedStage(handler: handler)
        let second = try await SealedStage.other(of: first)
        let header = try await second.stage.account.downloads.header(of: second.node)
        #expect(header.isSealed && header.application == ["kind": "film"] && header.modifiedAt == date)
        #expect(header.sizes == [.metadata: 300, .thumbnail: 20_000, .data: 300_000])
        #expect(header.eTag == (try await second.stage.read { try $0.node(at: "/n").eTag }))
        #expect(second.remote.state.withLock { $0.given } == 16_384)
        await first.close()
        await second.close()
    }

    @Test func `a download that breaks off goes on within the chunk where it was, and has plain bytes`() async throws {
        let cuts = Mutex(2)
        let remote = StrictRemote { request, _ in
            request.verb == "BODY"
                && cuts.withLock {
                    $0 -= 1
                    return $0 >= 0
                } ? .cut(100_000) : nil
        }
        let first = try await SealedStage(remote)
        #expect(try await first.fetch() == SealedStage.sections[.data])
        let start = try SealedFile(remote.bytes("home/n"), node: ContentSealing.binding, keys: SealedWorld.keys)
            .sealedRange(of: .data).lowerBound
        let step = Int64(65_536 + 28)
        #expect(first.verbs("GET") == (0..<3).map { "GET from \(start + Int64($0) * step)" })
        await first.close()
        #expect(first.scratch.partial == [])
    }

    @Test func `what is cached is opened, and fetched once`() async throws {
        let machine = try await SealedStage()
        for _ in 0..<3 { #expect(try await machine.fetch(.thumbnail, cache: true) == SealedStage.sections[.thumbnail]) }
        #expect(machine.verbs("GET").count == 1)
        machine.handler.set([.thumbnail: Data("later".utf8)], of: machine.node)
        try await machine.upload(.thumbnail)
        #expect(try await machine.fetch(.thumbnail, cache: true) == Data("later".utf8))
        await machine.close()
    }

    @Test func `a section without bytes is not there, and empty content is`() async throws {
        let machine = try await SealedStage(sections: [.data: Data()])
        #expect(try await machine.fetch() == Data())
        await #expect(throws: RemoteError.self) { try await machine.fetch(.thumbnail) }
        await machine.close()
    }

    // MARK: Tampering

    enum Harm: CaseIterable {
        case magic, salt, table, header, thumbnail, data, cut, cutToNothing, longer, otherFile, swap
    }

    /// - Parameter isKnown: whether the machine has seen the file before it was changed. The version stays the same.
    @Test(arguments: Harm.allCases, [true, false])
    func `what was tampered with is refused, and is in no file`(_ harm: Harm, isKnown: Bool) async throws {
        let first = try await SealedStage()
        let second = isKnown ? first : try await SealedStage.other(of: first)
        // Another file of the same account, with sections of the same sizes.
        let other = try await SealedStage(sections: SealedStage.sections.mapValues { Data($0.reversed()) })
        let whole = first.remote.bytes("home/n")
        let file = try SealedFile(whole, node: ContentSealing.binding, keys: SealedWorld.keys)
        var bytes = whole
        func flip(_ index: Int64) { bytes[Int(index)] ^= 1 }
        let data = file.sealedRange(of: .data)
        switch harm {
        case .magic: flip(3)
        case .salt: flip(30)
        case .table: flip(150)
        case .header: flip(file.sealedRange(of: .header).lowerBound + 14)
        case .thumbnail: flip(file.sealedRange(of: .thumbnail).lowerBound + 100)
        case .data: flip(data.upperBound - 1)
        case .cut: bytes = bytes.prefix(Int(data.upperBound) - 30)
        case .cutToNothing: bytes = Data()
        case .longer: bytes += Data(count: 10)
        case .otherFile: bytes = other.remote.bytes("home/n")
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
        case (.magic, false), (.cutToNothing, false): #expect(code == .notSealed)
        case (.salt, false), (.table, false): #expect(code == .sealKeyRefused)
        case (.cut, _), (.cutToNothing, true): #expect(code == .sealedTruncated)
        // The other file is genuine and belongs to the account. A machine that has never seen the file cannot detect
        // the exchange.
        case (.otherFile, false): #expect(code == nil)
        default: #expect(code == .sealedDamaged)
        }
        #expect(
            try Self.files(of: second).allSatisfy {
                SealedStage.sections[.data]?.starts(with: $0) ?? false || code == nil
            }
        )
        for machine in [first, second, other] { await machine.close() }
    }

    /// The files in the folder of a cache, without its index.
    private static func files(of machine: SealedStage) throws -> [Data] {
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

    @Test func `what was sealed by an earlier key opens, and the next upload is by the new one`() async throws {
        let first = try await SealedStage()
        let key = AccountKey()
        let keys = AccountKeys(key, earlier: [SealedWorld.account])
        let second = try await SealedStage.other(
            of: first,
            sealing: ContentSealing(key, earlier: [SealedWorld.account])
        )
        #expect(try await second.fetch(.metadata) == SealedStage.sections[.metadata])
        second.handler.set(SealedStage.sections, of: second.node)
        let old = try SealedFile(first.remote.bytes("home/n"), node: ContentSealing.binding, keys: keys)
        try await second.upload(.data)
        let new = try SealedFile(first.remote.bytes("home/n"), node: ContentSealing.binding, keys: keys)
        #expect(old.accountKey == SealedWorld.account.id && new.accountKey == key.id)
        // An owner of the earlier key may know the content key that this key has wrapped.
        #expect(old.contentKey.bytes != new.contentKey.bytes)
        try await first.stage.account.pull()
        #expect(try await first.refusal() == .accountKeyUnknown)
        await first.close()
        await second.close()
    }

    @Test func `another key of the same name is refused`() async throws {
        let first = try await SealedStage()
        let key = try AccountKey(id: SealedWorld.account.id, bytes: AccountKey().bytes)
        let second = try await SealedStage.other(of: first, sealing: ContentSealing(key))
        #expect(try await second.refusal() == .sealKeyRefused)
        let error = await #expect(throws: CloudError.self) {
            try await second.stage.account.downloads.header(of: second.node)
        }
        #expect(error?.nodes == [second.node.number] && error?.message.hasPrefix("home/n: ") ?? false)
        await first.close()
        await second.close()
    }

    @Test func `an upload that has to read what it has no key for waits for the key`() async throws {
        let first = try await SealedStage()
        let keys = Mutex(AccountKeys(AccountKey()))
        let second = try await SealedStage.other(of: first, sealing: ContentSealing { keys.withLock { $0 } })
        second.handler.set([.thumbnail: Data([1])], of: second.node)
        try await second.upload(.thumbnail)
        let waiting = try await second.stage.read { try $0.context.fetch(QueuedOperation.all).map(\.constraint) }
        #expect(waiting == ["credentials"])
        keys.withLock { $0 = AccountKeys($0.current, earlier: [SealedWorld.account]) }
        try await second.stage.account.credentialsChanged()
        try await second.stage.drain()
        let all = keys.withLock { $0 }
        #expect(try second.opened(.thumbnail, keys: all) == Data([1]))
        #expect(try second.opened(.data, keys: all) == SealedStage.sections[.data])
        await first.close()
        await second.close()
    }

    @Test func `an account that seals is not opened without`() async throws {
        let machine = try await SealedStage()
        await machine.close()
        let error = await #expect(throws: CloudError.self) {
            _ = try await CloudStage(machine.remote, stack: machine.stage.stack)
        }
        #expect(error?.code == .sealingMissing)
        let again = try await CloudStage(
            machine.remote,
            stack: machine.stage.stack,
            options: CloudOptions(sealing: ContentSealing(SealedWorld.account))
        )
        await again.account.close()
    }

    @Test func `what was taken for content before the account was sealing is not in the cache any more`() async throws {
        let first = try await SealedStage()
        let second = try await SealedStage.other(of: first, sealing: nil)
        #expect(try await second.fetch(cache: true) == first.remote.bytes("home/n"))
        await second.close()
        let again = try await CloudStage(
            first.remote,
            stack: second.stage.stack,
            options: CloudOptions(sealing: ContentSealing(SealedWorld.account), cacheFolder: second.scratch.folder)
        )
        let file = try await again.account.downloads.fetch(second.node, options: DownloadOptions(cache: true))
        #expect(try Data(contentsOf: file.file) == SealedStage.sections[.data])
        file.release()
        await again.account.close()
        await first.close()
    }

    // MARK: Plain files

    @Test(arguments: [true, false]) func `a plain file is refused, or read as it is where that was asked for`(
        isRead: Bool
    ) async throws {
        let plain = try await SealedStage(sealing: nil, sections: SealedStage.sections)
        #expect(plain.remote.tree.keys.sorted() == ["home/", "home/n", "home/n%metadata", "home/n%thumbnail"])
        let sealing = ContentSealing(SealedWorld.account, readsPlainFiles: isRead)
        let machine = try await SealedStage.other(of: plain, sealing: sealing)
        for section in ContentSections.given.elements {
            if isRead {
                for _ in 0..<2 {
                    #expect(try await machine.fetch(section, cache: true) == SealedStage.sections[section])
                }
            } else {
                #expect(try await machine.refusal(section) == .notSealed)
            }
        }
        // There is one request for the first bytes, and one per section.
        if isRead { #expect(machine.verbs("GET").count == 4) }
        // The next upload encrypts the file, and leaves no plain bytes.
        machine.handler.set([.thumbnail: Data([1])], of: machine.node)
        try await machine.upload(.thumbnail)
        if isRead {
            #expect(machine.remote.tree.keys.sorted() == ["home/", "home/n"])
            #expect(try machine.opened(.data) == SealedStage.sections[.data])
            #expect(try machine.opened(.metadata) == SealedStage.sections[.metadata])
            #expect(try await machine.fetch(.thumbnail, cache: true) == Data([1]))
        } else {
            #expect(
                try await machine.stage.read { try $0.context.fetch(QueuedOperation.all).map(\.status) } == [.failed]
            )
            #expect(machine.remote.bytes("home/n") == SealedStage.sections[.data])
        }
        await plain.close()
        await machine.close()
    }

    // MARK: Marks

    @Test(arguments: [true, false]) func `each section that is marked arrives, and its mark is taken back`(
        isSealed: Bool
    ) async throws {
        let sealing = isSealed ? ContentSealing(SealedWorld.account) : nil
        // The file does not have a thumbnail.
        let first = try await SealedStage(
            sealing: sealing,
            sections: [.metadata: Data("some metadata".utf8), .data: Data("the data".utf8)]
        )
        let second = try await SealedStage.other(of: first, sealing: sealing, download: .all)
        try await second.stage.commit { cloud in cloud.markNeedsDownload(try cloud.node(at: "/n")) }
        try await second.stage.account.downloadMarked()
        let downloaded = second.handler.state.withLock { $0.downloaded }
        #expect(Set(downloaded) == ["header of /n: - 8", "/n: some metadata", "/n: the data"])
        #expect(try await second.stage.read { try $0.nodesMarkedForDownload().isEmpty })
        _ = second.handler.pulled()
        // If one file holds all sections, a later version marks all of them.
        first.handler.set([.metadata: Data("later".utf8), .data: Data("the data".utf8)], of: first.node)
        try await first.upload(.metadata)
        try await second.stage.account.pull()
        #expect(
            second.handler.pulled()
                == [isSealed ? "modified /n: header, metadata, thumbnail, data" : "modified /n: metadata"]
        )
        try await second.stage.commit { cloud in cloud.markNeedsDownload(try cloud.node(at: "/n"), .metadata) }
        try await second.stage.account.downloadMarked()
        #expect(second.handler.state.withLock { $0.downloaded }.contains("/n: later"))
        #expect(try await second.stage.read { try $0.nodesMarkedForDownload().isEmpty })
        await first.close()
        await second.close()
    }
}
