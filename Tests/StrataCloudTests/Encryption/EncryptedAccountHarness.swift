import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// An encrypted account on a strict remote, with a file `/n` of several sections, and with a separate cache.
struct EncryptedAccountHarness {
    let harness: CloudHarness
    let node: ObjectID<CloudNode>
    let scratch: DownloadTests.Scratch

    static let path = "home/n"
    static let sections: [ContentSections: Data] = [
        .metadata: EncryptionFixture.bytes(300, 1), .thumbnail: EncryptionFixture.bytes(20_000, 2),
        .data: EncryptionFixture.bytes(300_000, 3),
    ]

    /// - Parameter isMaker: whether this machine creates the file. Otherwise a pull finds it.
    init(
        _ remote: StrictRemote = StrictRemote(),
        encryption: ContentEncryption? = ContentEncryption(EncryptionFixture.account),
        handler: TestHandler = TestHandler(),
        partSize: Int64 = 16 << 20,
        download: DownloadPolicy = .onDemand,
        sections: [ContentSections: Data] = sections,
        isMaker: Bool = true
    ) async throws {
        scratch = DownloadTests.Scratch()
        harness = try await CloudHarness(
            remote,
            handler: handler,
            options: CloudOptions(
                encryption: encryption,
                retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)),
                partSize: partSize,
                maxConcurrentParts: 1,
                download: download,
                cacheFolder: scratch.folder
            )
        )
        if isMaker {
            let all = ContentSections(Array(sections.keys))
            node = try await harness.commit { cloud in
                let node = try cloud.createNode(at: "/n", sections: all)
                handler.set(sections, of: node.id)
                return node.id
            }
            try await harness.drain()
        } else {
            try await harness.account.pull()
            node = try await harness.read { try $0.node(at: "/n").id }
        }
    }

    /// Another machine with the same key.
    static func other(
        of first: EncryptedAccountHarness,
        encryption: ContentEncryption? = ContentEncryption(EncryptionFixture.account),
        download: DownloadPolicy = .onDemand,
        handler: TestHandler = TestHandler()
    ) async throws -> EncryptedAccountHarness {
        try await EncryptedAccountHarness(
            first.remote,
            encryption: encryption,
            handler: handler,
            download: download,
            isMaker: false
        )
    }

    var remote: StrictRemote { harness.remote }
    var handler: TestHandler { harness.handler }

    /// Downloads a section, and returns its bytes.
    func fetch(_ section: ContentSections = .data, cache: Bool = false) async throws -> Data {
        let file = try await harness.account.downloads.fetch(node, section, options: DownloadOptions(cache: cache))
        defer { file.release() }
        return try Data(contentsOf: file.file)
    }

    /// The code of the error with which the download of a section fails.
    func refusal(_ section: ContentSections = .data) async throws -> CloudError.Code? {
        do {
            _ = try await fetch(section, cache: true)
            return nil
        } catch let error as CloudError {
            return error.code
        }
    }

    func upload(_ sections: ContentSections) async throws {
        try await harness.commit { _ = try $0.upload($0.node(at: "/n"), sections) }
        try await harness.drain()
    }

    /// A decrypted section of the remote's file.
    func opened(_ section: EncryptedSection, keys: AccountKeys = EncryptionFixture.keys) throws -> Data {
        try EncryptionFixture.open(remote.bytes(Self.path), section, keys)
    }

    /// The requests whose verbs begin with one of the prefixes.
    func verbs(_ prefixes: String...) -> [String] {
        remote.requests.map(\.verb).filter { verb in prefixes.contains { verb.hasPrefix($0) } }
    }

    func close() async { await harness.account.close() }
}

/// A condition that is true once.
final class Once: Sendable {
    private let isDue = Mutex(true)

    func callAsFunction() -> Bool {
        isDue.withLock { due in
            defer { due = false }
            return due
        }
    }
}
