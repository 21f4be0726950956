import Foundation
import GRDB
import Testing

@testable import StrataCloud

@Suite struct DiskCacheSharingTests {
    private let fixture = CacheFixture()

    @Test("Two caches in one folder see each other's files")
    func sharedFiles() async throws {
        let one = try await fixture.open()
        let other = try await fixture.open()
        try await one.put(1)
        let found = try #require(try await other.file(CacheFixture.key(1)))
        try await one.remove(CacheFixture.key(1))
        #expect(try await other.nodes() == [])
        #expect(try Data(contentsOf: found.file).count == 10)
        found.release()
        try await other.settle()
        #expect(fixture.files.isEmpty)
    }

    @Test("A file that another cache holds is not evicted")
    func heldByOther() async throws {
        let one = try await fixture.open(limit: 30)
        let other = try await fixture.open(limit: 30)
        try await one.put(1)
        let held = try #require(try await other.file(CacheFixture.key(1)))
        for node in 2...6 { try await one.put(Int64(node)) }
        #expect(try await one.nodes() == [1, 5, 6])
        held.release()
        try await other.settle()
        try await one.put(7)
        #expect(try await one.nodes() == [5, 6, 7])
    }

    @Test("Opening removes the files of dead processes, and none of living processes")
    func sweepAtOpening() async throws {
        let living = try await fixture.open()
        let mine = try living.temporaryPlace()
        try Data("mine".utf8).write(to: mine)
        let dying = try await fixture.open()
        let theirs = try dying.temporaryPlace()
        try Data("theirs".utf8).write(to: theirs)
        let held = try await dying.add(1)
        try await living.remove(CacheFixture.key(1))

        dying.abandon()
        let next = try await fixture.open()
        #expect(FileManager.default.fileExists(atPath: mine.path))
        #expect(!FileManager.default.fileExists(atPath: theirs.path))
        #expect(!FileManager.default.fileExists(atPath: held.file.path))
        held.release()
        #expect(try await next.faults() == [])
    }

    @Test("Space that dead processes hold is reclaimed without opening a cache")
    func spaceOfDeadProcesses() async throws {
        let cache = try await fixture.open(limit: 25)
        let dying = try await fixture.open(limit: 25)
        let held = [try await dying.add(1), try await dying.add(2)]
        dying.abandon()
        try await cache.put(3)
        #expect(try await cache.nodes() == [2, 3])
        for file in held { file.release() }
    }

    @Test("A sweep removes files without entries and entries without files")
    func orphans() async throws {
        let cache = try await fixture.open()
        for node in 1...3 { try await cache.put(Int64(node)) }
        let one = try #require(try await cache.file(CacheFixture.key(1)))
        let two = try #require(try await cache.file(CacheFixture.key(2)))
        try await cache.close()
        try FileManager.default.removeItem(at: one.file)
        try Data("short".utf8).write(to: two.file)
        try Data("nobody's".utf8).write(to: fixture.folder.appending(path: "files/stray"))
        let next = try await fixture.open()
        #expect(try await next.nodes() == [3])
        #expect(try await next.faults() == [])
        #expect(fixture.files.count == 1)
    }

    @Test("Closing releases everything, and a closed cache throws")
    func closedCache() async throws {
        let cache = try await fixture.open()
        let held = try await cache.add(1)
        let place = try cache.temporaryPlace()
        try Data("x".utf8).write(to: place)
        try await cache.close()
        try await cache.close()
        #expect(!FileManager.default.fileExists(atPath: place.path))
        held.release()
        let error = await #expect(throws: CloudError.self) { try await cache.file(CacheFixture.key(1)) }
        #expect(error?.code == .cacheClosed)
        #expect(throws: CloudError.self) { try cache.temporaryPlace() }
        let next = try await fixture.open(limit: 5)
        #expect(try await next.nodes() == [])
        let owners = try FileManager.default.contentsOfDirectory(atPath: fixture.folder.appending(path: "owners").path)
        #expect(owners.count == 1)
    }

    @Test("A file that cannot be adopted changes nothing")
    func failedAdoption() async throws {
        let cache = try await fixture.open()
        try await cache.put(1)
        let nowhere = try cache.temporaryPlace()
        for source in [nowhere, fixture.folder] {
            let error = await #expect(throws: CloudError.self) {
                try await cache.adopt(source, as: CacheFixture.key(1), eTag: ETag("2"))
            }
            #expect(error?.code == .fileUnreadable)
        }
        #expect(try await cache.file(CacheFixture.key(1))?.eTag == ETag("1"))

        // The index refuses in the last step, when the file has already been moved.
        try await cache.transaction { $0.database.add(transactionObserver: Refusal(), extent: .databaseLifetime) }
        let place = try cache.temporaryPlace()
        try Data("x".utf8).write(to: place)
        let error = await #expect(throws: CloudError.self) {
            try await cache.adopt(place, as: CacheFixture.key(1), eTag: nil)
        }
        #expect(error?.code == .cacheUnavailable)
        #expect(FileManager.default.fileExists(atPath: place.path))
        #expect(fixture.files.count == 1)
        let next = try await fixture.open()
        #expect(try await next.nodes() == [1])
        #expect(try await next.faults() == [])
    }

    /// Prevents every further transaction from being committed.
    private final class Refusal: TransactionObserver {
        private var isArmed = false

        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
        func databaseDidChange(with event: DatabaseEvent) {}
        func databaseWillCommit() throws { if isArmed { throw POSIXError(.ENOSPC) } }
        func databaseDidCommit(_ database: Database) { isArmed = true }
        func databaseDidRollback(_ database: Database) {}
    }

    @Test("A lock that another process holds is not acquired, and the attempt leaves no file open")
    func contendedLock() async throws {
        let cache = try await fixture.open()
        let file = cache.folder.lock(of: cache.owner)
        for _ in 0..<3000 {
            let isHad = CacheLock(file, creating: false) != nil
            try #require(!isHad)
        }
        cache.abandon()
        let isHad = CacheLock(file, creating: false) != nil
        #expect(isHad)
    }

    @Test("A held file keeps its cache open")
    func heldFileKeepsCache() async throws {
        var cache: DiskCache? = try await fixture.open()
        let held = try #require(try await cache?.add(1))
        weak let gone = cache
        cache = nil
        let other = try await fixture.open(limit: 5)
        #expect(FileManager.default.fileExists(atPath: held.file.path))
        held.release()
        for _ in 0..<100 where gone != nil { try await other.settle() }
        #expect(gone == nil)
    }

    @Test("An invalid folder and an invalid index have different errors")
    func invalidFolderAndIndex() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "cache-\(UUID().uuidString)")
        try Data("x".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        var error = await #expect(throws: CloudError.self) { try await DiskCache.open(file) }
        #expect(error?.code == .cacheUnavailable)

        try FileManager.default.createDirectory(at: fixture.folder, withIntermediateDirectories: true)
        try Data(repeating: 7, count: 5000).write(to: fixture.folder.appending(path: "index.sqlite"))
        error = await #expect(throws: CloudError.self) { try await fixture.open() }
        #expect(error?.code == .cacheDamaged)
    }

    @Test("An index of a later version is not changed")
    func laterVersion() async throws {
        let cache = try await fixture.open()
        try await cache.put(1)
        try await cache.close()
        let queue = try DatabaseQueue(path: fixture.folder.appending(path: "index.sqlite").path)
        try await queue.write { try $0.execute(sql: "PRAGMA user_version = 99") }
        try queue.close()
        let error = await #expect(throws: CloudError.self) { try await fixture.open() }
        #expect(error?.code == .cacheDamaged)
        #expect(fixture.files.count == 1)
    }

    @Test("Two processes that open a new folder at the same time both succeed")
    func simultaneousOpening() async throws {
        for _ in 0..<50 {
            let fixture = CacheFixture()
            async let one = fixture.open()
            async let other = fixture.open()
            let caches = try await [one, other]
            try await caches[0].put(1)
            #expect(try await caches[1].nodes() == [1])
        }
    }
}
