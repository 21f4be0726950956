import Foundation
import GRDB
import Testing

@testable import StrataCloud

@Suite struct DiskCacheSharingTests {
    private let world = CacheWorld()

    @Test func `two caches on one folder see each other's files`() async throws {
        let one = try await world.open()
        let other = try await world.open()
        try await one.put(1)
        let found = try #require(try await other.file(CacheWorld.key(1)))
        try await one.remove(CacheWorld.key(1))
        #expect(try await other.nodes() == [])
        #expect(try Data(contentsOf: found.file).count == 10)
        found.release()
        try await other.settle()
        #expect(world.files.isEmpty)
    }

    @Test func `what another cache holds is not evicted`() async throws {
        let one = try await world.open(limit: 30)
        let other = try await world.open(limit: 30)
        try await one.put(1)
        let held = try #require(try await other.file(CacheWorld.key(1)))
        for node in 2...6 { try await one.put(Int64(node)) }
        #expect(try await one.nodes() == [1, 5, 6])
        held.release()
        try await other.settle()
        try await one.put(7)
        #expect(try await one.nodes() == [5, 6, 7])
    }

    @Test func `opening sweeps what the dead have left, and nothing of the living`() async throws {
        let living = try await world.open()
        let mine = try living.temporaryPlace()
        try Data("mine".utf8).write(to: mine)
        let dying = try await world.open()
        let theirs = try dying.temporaryPlace()
        try Data("theirs".utf8).write(to: theirs)
        let held = try await dying.add(1)
        try await living.remove(CacheWorld.key(1))

        dying.abandon()
        let next = try await world.open()
        #expect(FileManager.default.fileExists(atPath: mine.path))
        #expect(!FileManager.default.fileExists(atPath: theirs.path))
        #expect(!FileManager.default.fileExists(atPath: held.file.path))
        held.release()
        #expect(try await next.faults() == [])
    }

    @Test func `room that the dead hold is found without opening anything`() async throws {
        let cache = try await world.open(limit: 25)
        let dying = try await world.open(limit: 25)
        let held = [try await dying.add(1), try await dying.add(2)]
        dying.abandon()
        try await cache.put(3)
        #expect(try await cache.nodes() == [2, 3])
        for file in held { file.release() }
    }

    @Test func `files without entries and entries without files are swept`() async throws {
        let cache = try await world.open()
        for node in 1...3 { try await cache.put(Int64(node)) }
        let one = try #require(try await cache.file(CacheWorld.key(1)))
        let two = try #require(try await cache.file(CacheWorld.key(2)))
        try await cache.close()
        try FileManager.default.removeItem(at: one.file)
        try Data("short".utf8).write(to: two.file)
        try Data("nobody's".utf8).write(to: world.folder.appending(path: "files/stray"))
        let next = try await world.open()
        #expect(try await next.nodes() == [3])
        #expect(try await next.faults() == [])
        #expect(world.files.count == 1)
    }

    @Test func `closing lets go of everything, and what is closed says so`() async throws {
        let cache = try await world.open()
        let held = try await cache.add(1)
        let place = try cache.temporaryPlace()
        try Data("x".utf8).write(to: place)
        try await cache.close()
        try await cache.close()
        #expect(!FileManager.default.fileExists(atPath: place.path))
        held.release()
        let error = await #expect(throws: CloudError.self) { try await cache.file(CacheWorld.key(1)) }
        #expect(error?.code == .cacheClosed)
        #expect(throws: CloudError.self) { try cache.temporaryPlace() }
        let next = try await world.open(limit: 5)
        #expect(try await next.nodes() == [])
        let owners = try FileManager.default.contentsOfDirectory(atPath: world.folder.appending(path: "owners").path)
        #expect(owners.count == 1)
    }

    @Test func `what cannot be adopted leaves everything as it was`() async throws {
        let cache = try await world.open()
        try await cache.put(1)
        let nowhere = try cache.temporaryPlace()
        for source in [nowhere, world.folder] {
            let error = await #expect(throws: CloudError.self) {
                try await cache.adopt(source, as: CacheWorld.key(1), eTag: ETag("2"))
            }
            #expect(error?.code == .fileUnreadable)
        }
        #expect(try await cache.file(CacheWorld.key(1))?.eTag == ETag("1"))

        // The index refuses in the last step, when the file has already been moved.
        try await cache.transaction { $0.database.add(transactionObserver: Refusal(), extent: .databaseLifetime) }
        let place = try cache.temporaryPlace()
        try Data("x".utf8).write(to: place)
        let error = await #expect(throws: CloudError.self) {
            try await cache.adopt(place, as: CacheWorld.key(1), eTag: nil)
        }
        #expect(error?.code == .cacheUnavailable)
        #expect(FileManager.default.fileExists(atPath: place.path))
        #expect(world.files.count == 1)
        let next = try await world.open()
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

    @Test func `a lock that somebody has is not had, and nothing is left open by asking`() async throws {
        let cache = try await world.open()
        let file = cache.folder.lock(of: cache.owner)
        for _ in 0..<3000 {
            let isHad = CacheLock(file, creating: false) != nil
            try #require(!isHad)
        }
        cache.abandon()
        let isHad = CacheLock(file, creating: false) != nil
        #expect(isHad)
    }

    @Test func `a file that is held keeps its cache`() async throws {
        var cache: DiskCache? = try await world.open()
        let held = try #require(try await cache?.add(1))
        weak let gone = cache
        cache = nil
        let other = try await world.open(limit: 5)
        #expect(FileManager.default.fileExists(atPath: held.file.path))
        held.release()
        for _ in 0..<100 where gone != nil { try await other.settle() }
        #expect(gone == nil)
    }

    @Test func `a folder that is none, and an index that is none, are told apart`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "cache-\(UUID().uuidString)")
        try Data("x".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        var error = await #expect(throws: CloudError.self) { try await DiskCache.open(file) }
        #expect(error?.code == .cacheUnavailable)

        try FileManager.default.createDirectory(at: world.folder, withIntermediateDirectories: true)
        try Data(repeating: 7, count: 5000).write(to: world.folder.appending(path: "index.sqlite"))
        error = await #expect(throws: CloudError.self) { try await world.open() }
        #expect(error?.code == .cacheDamaged)
    }

    @Test func `an index of a later version is left alone`() async throws {
        let cache = try await world.open()
        try await cache.put(1)
        try await cache.close()
        let queue = try DatabaseQueue(path: world.folder.appending(path: "index.sqlite").path)
        try await queue.write { try $0.execute(sql: "PRAGMA user_version = 99") }
        try queue.close()
        let error = await #expect(throws: CloudError.self) { try await world.open() }
        #expect(error?.code == .cacheDamaged)
        #expect(world.files.count == 1)
    }

    @Test func `two who open a new folder at once both get it`() async throws {
        for _ in 0..<50 {
            let world = CacheWorld()
            async let one = world.open()
            async let other = world.open()
            let caches = try await [one, other]
            try await caches[0].put(1)
            #expect(try await caches[1].nodes() == [1])
        }
    }
}
