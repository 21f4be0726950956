import Foundation
import Testing

@testable import StrataCloud

@Suite struct DiskCacheTests {
    private let fixture = CacheFixture()

    @Test("A file is found by account, node, sections and version")
    func lookup() async throws {
        let cache = try await fixture.open()
        let added = try await cache.add(1, size: 5)
        #expect(try Data(contentsOf: added.file) == Data(repeating: 1, count: 5))
        #expect(added.size == 5 && added.sections == .data && added.eTag == ETag("1") && !added.isTemporary)
        let found = try #require(try await cache.file(CacheFixture.key(1), eTag: ETag("1")))
        #expect(found.file == added.file && found.eTag == ETag("1"))
        #expect(try await cache.file(CacheFixture.key(1))?.file == added.file)
        #expect(try await cache.file(CacheFixture.key(1), eTag: ETag("1", isWeak: true)) == nil)
        #expect(try await cache.file(CacheFixture.key(1), eTag: ETag("2")) == nil)
        #expect(try await cache.file(CacheFixture.key(2)) == nil)
        #expect(try await cache.file(CacheFixture.key(1, account: "bob")) == nil)
        #expect(try await cache.file(CacheFixture.key(1, sections: .thumbnail)) == nil)
        try await cache.close()
        let again = try await fixture.open()
        #expect(try await again.file(CacheFixture.key(1))?.file == added.file)
        try await again.close()
    }

    @Test("A download is moved into the cache and can be replaced by another")
    func adoptedDownload() async throws {
        let cache = try await fixture.open()
        let place = try cache.temporaryPlace()
        try Data("one".utf8).write(to: place)
        try await cache.adopt(place, as: CacheFixture.key(1), eTag: nil).release()
        #expect(!FileManager.default.fileExists(atPath: place.path))
        #expect(try await cache.file(CacheFixture.key(1))?.eTag == nil)
        try await cache.put(1, size: 7, eTag: "2")
        #expect(try await cache.usage() == CacheUsage(evictable: 7, persistent: 0, count: 1))
        let found = try #require(try await cache.file(CacheFixture.key(1)))
        #expect(found.eTag == ETag("2"))
        #expect(try await cache.faults() == [])
    }

    @Test("The least recently used file is evicted first")
    func leastRecentlyUsed() async throws {
        let cache = try await fixture.open(limit: 50)
        for node in 1...5 { try await cache.put(Int64(node)) }
        try await cache.file(CacheFixture.key(1))?.release()
        try await cache.file(CacheFixture.key(3))?.release()
        var left: [[Int64]] = []
        for node in 6...10 {
            try await cache.put(Int64(node))
            left.append(try await cache.nodes())
        }
        #expect(left == [[1, 3, 4, 5, 6], [1, 3, 5, 6, 7], [1, 3, 6, 7, 8], [3, 6, 7, 8, 9], [6, 7, 8, 9, 10]])
        #expect(fixture.files.count == 5)
        try await cache.put(11, size: 45)
        #expect(try await cache.nodes() == [11])
        try await cache.put(12, size: 51)
        #expect(try await cache.nodes() == [])
        #expect(fixture.files.isEmpty)
    }

    @Test("After random steps, the cache contains exactly the files of a simple model")
    func randomSteps() async throws {
        for seed in UInt64(1)...5 {
            let fixture = CacheFixture()
            let cache = try await fixture.open(limit: 100)
            var random = Steps(state: seed)
            var model: [(node: Int64, size: Int, isPersistent: Bool)] = []
            for _ in 0..<150 {
                let node = Int64(random.next(10))
                switch random.next(5) {
                case 0, 1:
                    let size = random.next(40)
                    let isPersistent = random.next(6) == 0
                    try await cache.put(node, size: size, retention: isPersistent ? .persistent : .evictable)
                    model.removeAll { $0.node == node }
                    model.append((node, size, isPersistent))
                case 2:
                    try await cache.file(CacheFixture.key(node))?.release()
                    if let index = model.firstIndex(where: { $0.node == node }) {
                        model.append(model.remove(at: index))
                    }
                case 3:
                    try await cache.remove(CacheFixture.key(node))
                    model.removeAll { $0.node == node }
                default:
                    let isPersistent = random.next(4) == 0
                    try await cache.setRetention(isPersistent ? .persistent : .evictable, of: CacheFixture.key(node))
                    if let index = model.firstIndex(where: { $0.node == node }) {
                        model[index].isPersistent = isPersistent
                    }
                }
                while model.reduce(0, { $0 + $1.size }) > 100, let index = model.firstIndex(where: { !$0.isPersistent })
                {
                    model.remove(at: index)
                }
                try await cache.settle()
                let nodes = try await cache.nodes()
                try #require(nodes == model.map(\.node).sorted(), "seed \(seed)")
            }
            #expect(try await cache.faults() == [], "seed \(seed)")
            #expect(fixture.files.count == model.count)
        }
    }

    private struct Steps {
        var state: UInt64

        mutating func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
    }

    @Test("Persistent files stay; if they exceed the limit, no other file does")
    func persistentFiles() async throws {
        let cache = try await fixture.open(limit: 50)
        for node in 1...4 { try await cache.put(Int64(node), size: 20, retention: .persistent) }
        #expect(try await cache.usage() == CacheUsage(evictable: 0, persistent: 80, count: 4))
        let held = try await cache.add(5)
        #expect(try await cache.nodes() == [1, 2, 3, 4, 5])
        #expect(FileManager.default.fileExists(atPath: held.file.path))
        held.release()
        #expect(try await cache.nodes() == [1, 2, 3, 4])
        #expect(try await cache.setRetention(.evictable, of: CacheFixture.key(2)))
        #expect(try await cache.nodes() == [1, 3, 4])
        #expect(try await cache.setRetention(.persistent, of: CacheFixture.key(2)) == false)
        #expect(try await cache.faults() == [])
    }

    @Test("An expired file is not found")
    func expiredFiles() async throws {
        let cache = try await fixture.open()
        let start = fixture.clock.now
        try await cache.put(1, expires: start.addingTimeInterval(60))
        try await cache.put(2, expires: start.addingTimeInterval(120))
        try await cache.put(3)
        fixture.clock.advance(by: .seconds(59))
        try await cache.file(CacheFixture.key(1))?.release()
        #expect(try await cache.nodes() == [1, 2, 3])
        fixture.clock.advance(by: .seconds(1))
        #expect(try await cache.file(CacheFixture.key(1)) == nil)
        #expect(try await cache.nodes() == [2, 3])
        fixture.clock.advance(by: .seconds(60))
        try await cache.removeExpired()
        #expect(try await cache.nodes() == [3])
        #expect(fixture.files.count == 1)
        try await cache.put(4, expires: start.addingTimeInterval(180))
        try await cache.close()
        fixture.clock.advance(by: .seconds(600))
        #expect(try await fixture.open().nodes() == [3])
    }

    @Test("A held file stays, whatever happens to its entry")
    func heldFiles() async throws {
        let cache = try await fixture.open(limit: 50)
        let expires = fixture.clock.now.addingTimeInterval(60)
        let removed = try await cache.add(1)
        let replaced = try await cache.add(2)
        let expired = try await cache.add(3, expires: expires)
        let crowded = try await cache.add(4)
        try await cache.remove(CacheFixture.key(1))
        try await cache.put(2, eTag: "2")
        fixture.clock.advance(by: .seconds(60))
        #expect(try await cache.file(CacheFixture.key(3)) == nil)
        for node in 5...12 { try await cache.put(Int64(node)) }
        #expect(try await cache.nodes() == [4, 9, 10, 11, 12])
        for held in [removed, replaced, expired, crowded] {
            #expect(try Data(contentsOf: held.file).count == 10)
            held.release()
            held.release()
        }
        try await cache.put(13)
        #expect(try await cache.nodes() == [9, 10, 11, 12, 13])
        for held in [removed, replaced, expired, crowded] {
            #expect(!FileManager.default.fileExists(atPath: held.file.path))
        }
        #expect(try await cache.faults() == [])
    }

    @Test("A file with several holders stays until the last one releases it")
    func severalHolders() async throws {
        let cache = try await fixture.open()
        let one = try await cache.add(1)
        let other = try #require(try await cache.file(CacheFixture.key(1)))
        try await cache.removeAll(account: "alice")
        one.release()
        one.release()
        try await cache.settle()
        #expect(FileManager.default.fileExists(atPath: other.file.path))
        other.release()
        try await cache.settle()
        #expect(fixture.files.isEmpty)
    }

    @Test("A temporary file is deleted when it is released")
    func temporaryFiles() async throws {
        let cache = try await fixture.open()
        let place = try cache.temporaryPlace()
        #expect(throws: CloudError.self) { try cache.temporary(place, sections: .data, eTag: nil) }
        try Data("abc".utf8).write(to: place)
        let file = try cache.temporary(place, sections: .data, eTag: ETag("1"))
        #expect(file.isTemporary && file.size == 3 && file.file == place)
        file.release()
        #expect(!FileManager.default.fileExists(atPath: place.path))
        #expect(try await cache.usage().count == 0)
    }

    @Test("All files of one account, or all files, can be removed")
    func removedFiles() async throws {
        let cache = try await fixture.open()
        for account in ["alice", "bob"] {
            let place = try cache.temporaryPlace()
            try Data("x".utf8).write(to: place)
            try await cache.adopt(place, as: CacheFixture.key(1, account: account), eTag: nil, retention: .persistent)
                .release()
        }
        try await cache.removeAll(account: "bob")
        #expect(try await cache.usage().count == 1)
        try await cache.removeAll()
        #expect(try await cache.usage() == CacheUsage(evictable: 0, persistent: 0, count: 0))
        #expect(fixture.files.isEmpty)
    }

    @Test("Files that were deleted or truncated from outside are not found")
    func damagedFiles() async throws {
        let cache = try await fixture.open()
        try await cache.put(1)
        try await cache.put(2)
        let one = try #require(try await cache.file(CacheFixture.key(1)))
        let two = try #require(try await cache.file(CacheFixture.key(2)))
        try FileManager.default.removeItem(at: one.file)
        try Data("x".utf8).write(to: two.file)
        #expect(try await cache.file(CacheFixture.key(1)) == nil)
        #expect(try await cache.file(CacheFixture.key(2)) == nil)
        one.release()
        two.release()
        #expect(try await cache.faults() == [])
        #expect(fixture.files.isEmpty)
    }

    @Test("Concurrent adoptions, look-ups, removals and releases only see whole files")
    func concurrentUse() async throws {
        let cache = try await fixture.open(limit: 60)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for step in 0..<40 {
                        let node = Int64((worker * 7 + step * 3) % 10)
                        let file: DownloadedFile?
                        switch (worker + step) % 4 {
                        case 0, 1: file = try await cache.add(node, size: 5 + step % 9, eTag: "\(worker).\(step)")
                        case 2: file = try await cache.file(CacheFixture.key(node))
                        default:
                            try await cache.remove(CacheFixture.key(node))
                            file = nil
                        }
                        guard let file else { continue }
                        let data = try Data(contentsOf: file.file)
                        #expect(data.count == file.size && data.allSatisfy { $0 == UInt8(node) })
                        file.release()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await cache.faults() == [])
        let usage = try await cache.usage()
        #expect(usage.total <= 60)
        #expect(fixture.files.count == usage.count)
    }
}
