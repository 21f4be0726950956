import Foundation
import Testing

@testable import StrataCloud

@Suite struct DiskCacheTests {
    private let world = CacheWorld()

    @Test func `a file is found by account, node, sections and version`() async throws {
        let cache = try await world.open()
        let added = try await cache.add(1, size: 5)
        #expect(try Data(contentsOf: added.file) == Data(repeating: 1, count: 5))
        #expect(added.size == 5 && added.sections == .data && added.eTag == ETag("1") && !added.isTemporary)
        let found = try #require(try await cache.file(CacheWorld.key(1), eTag: ETag("1")))
        #expect(found.file == added.file && found.eTag == ETag("1"))
        #expect(try await cache.file(CacheWorld.key(1))?.file == added.file)
        #expect(try await cache.file(CacheWorld.key(1), eTag: ETag("1", isWeak: true)) == nil)
        #expect(try await cache.file(CacheWorld.key(1), eTag: ETag("2")) == nil)
        #expect(try await cache.file(CacheWorld.key(2)) == nil)
        #expect(try await cache.file(CacheWorld.key(1, account: "bob")) == nil)
        #expect(try await cache.file(CacheWorld.key(1, sections: .thumbnail)) == nil)
        try await cache.close()
        let again = try await world.open()
        #expect(try await again.file(CacheWorld.key(1))?.file == added.file)
        try await again.close()
    }

    @Test func `a download is moved into the cache, and another one takes its place`() async throws {
        let cache = try await world.open()
        let place = try cache.temporaryPlace()
        try Data("one".utf8).write(to: place)
        try await cache.adopt(place, as: CacheWorld.key(1), eTag: nil).release()
        #expect(!FileManager.default.fileExists(atPath: place.path))
        #expect(try await cache.file(CacheWorld.key(1))?.eTag == nil)
        try await cache.put(1, size: 7, eTag: "2")
        #expect(try await cache.usage() == CacheUsage(evictable: 7, persistent: 0, count: 1))
        let found = try #require(try await cache.file(CacheWorld.key(1)))
        #expect(found.eTag == ETag("2"))
        #expect(try await cache.faults() == [])
    }

    @Test func `what was not used for the longest time goes first`() async throws {
        let cache = try await world.open(limit: 50)
        for node in 1...5 { try await cache.put(Int64(node)) }
        try await cache.file(CacheWorld.key(1))?.release()
        try await cache.file(CacheWorld.key(3))?.release()
        var left: [[Int64]] = []
        for node in 6...10 {
            try await cache.put(Int64(node))
            left.append(try await cache.nodes())
        }
        #expect(left == [[1, 3, 4, 5, 6], [1, 3, 5, 6, 7], [1, 3, 6, 7, 8], [3, 6, 7, 8, 9], [6, 7, 8, 9, 10]])
        #expect(world.files.count == 5)
        try await cache.put(11, size: 45)
        #expect(try await cache.nodes() == [11])
        try await cache.put(12, size: 51)
        #expect(try await cache.nodes() == [])
        #expect(world.files.isEmpty)
    }

    @Test func `whatever is done in whichever order, what is there is what a simple model says`() async throws {
        for seed in UInt64(1)...5 {
            let world = CacheWorld()
            let cache = try await world.open(limit: 100)
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
                    try await cache.file(CacheWorld.key(node))?.release()
                    if let index = model.firstIndex(where: { $0.node == node }) {
                        model.append(model.remove(at: index))
                    }
                case 3:
                    try await cache.remove(CacheWorld.key(node))
                    model.removeAll { $0.node == node }
                default:
                    let isPersistent = random.next(4) == 0
                    try await cache.setRetention(isPersistent ? .persistent : .evictable, of: CacheWorld.key(node))
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
            #expect(world.files.count == model.count)
        }
    }

    private struct Steps {
        var state: UInt64

        mutating func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
    }

    @Test func `persistent files stay, and where they exceed the limit nothing else does`() async throws {
        let cache = try await world.open(limit: 50)
        for node in 1...4 { try await cache.put(Int64(node), size: 20, retention: .persistent) }
        #expect(try await cache.usage() == CacheUsage(evictable: 0, persistent: 80, count: 4))
        let held = try await cache.add(5)
        #expect(try await cache.nodes() == [1, 2, 3, 4, 5])
        #expect(FileManager.default.fileExists(atPath: held.file.path))
        held.release()
        #expect(try await cache.nodes() == [1, 2, 3, 4])
        #expect(try await cache.setRetention(.evictable, of: CacheWorld.key(2)))
        #expect(try await cache.nodes() == [1, 3, 4])
        #expect(try await cache.setRetention(.persistent, of: CacheWorld.key(2)) == false)
        #expect(try await cache.faults() == [])
    }

    @Test func `what has expired is found no more`() async throws {
        let cache = try await world.open()
        let start = world.clock.now
        try await cache.put(1, expires: start.addingTimeInterval(60))
        try await cache.put(2, expires: start.addingTimeInterval(120))
        try await cache.put(3)
        world.clock.advance(by: .seconds(59))
        try await cache.file(CacheWorld.key(1))?.release()
        #expect(try await cache.nodes() == [1, 2, 3])
        world.clock.advance(by: .seconds(1))
        #expect(try await cache.file(CacheWorld.key(1)) == nil)
        #expect(try await cache.nodes() == [2, 3])
        world.clock.advance(by: .seconds(60))
        try await cache.removeExpired()
        #expect(try await cache.nodes() == [3])
        #expect(world.files.count == 1)
        try await cache.put(4, expires: start.addingTimeInterval(180))
        try await cache.close()
        world.clock.advance(by: .seconds(600))
        #expect(try await world.open().nodes() == [3])
    }

    @Test func `a file that is held stays, whatever happens to it`() async throws {
        let cache = try await world.open(limit: 50)
        let expires = world.clock.now.addingTimeInterval(60)
        let removed = try await cache.add(1)
        let replaced = try await cache.add(2)
        let expired = try await cache.add(3, expires: expires)
        let crowded = try await cache.add(4)
        try await cache.remove(CacheWorld.key(1))
        try await cache.put(2, eTag: "2")
        world.clock.advance(by: .seconds(60))
        #expect(try await cache.file(CacheWorld.key(3)) == nil)
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

    @Test func `a file that is held several times stays until all have let go`() async throws {
        let cache = try await world.open()
        let one = try await cache.add(1)
        let other = try #require(try await cache.file(CacheWorld.key(1)))
        try await cache.removeAll(account: "alice")
        one.release()
        one.release()
        try await cache.settle()
        #expect(FileManager.default.fileExists(atPath: other.file.path))
        other.release()
        try await cache.settle()
        #expect(world.files.isEmpty)
    }

    @Test func `temporary files are deleted when they are released`() async throws {
        let cache = try await world.open()
        let place = try cache.temporaryPlace()
        #expect(throws: CloudError.self) { try cache.temporary(place, sections: .data, eTag: nil) }
        try Data("abc".utf8).write(to: place)
        let file = try cache.temporary(place, sections: .data, eTag: ETag("1"))
        #expect(file.isTemporary && file.size == 3 && file.file == place)
        file.release()
        #expect(!FileManager.default.fileExists(atPath: place.path))
        #expect(try await cache.usage().count == 0)
    }

    @Test func `all of an account goes, or all there is`() async throws {
        let cache = try await world.open()
        for account in ["alice", "bob"] {
            let place = try cache.temporaryPlace()
            try Data("x".utf8).write(to: place)
            try await cache.adopt(place, as: CacheWorld.key(1, account: account), eTag: nil, retention: .persistent)
                .release()
        }
        try await cache.removeAll(account: "bob")
        #expect(try await cache.usage().count == 1)
        try await cache.removeAll()
        #expect(try await cache.usage() == CacheUsage(evictable: 0, persistent: 0, count: 0))
        #expect(world.files.isEmpty)
    }

    @Test func `files that somebody has deleted or cut short are not found`() async throws {
        let cache = try await world.open()
        try await cache.put(1)
        try await cache.put(2)
        let one = try #require(try await cache.file(CacheWorld.key(1)))
        let two = try #require(try await cache.file(CacheWorld.key(2)))
        try FileManager.default.removeItem(at: one.file)
        try Data("x".utf8).write(to: two.file)
        #expect(try await cache.file(CacheWorld.key(1)) == nil)
        #expect(try await cache.file(CacheWorld.key(2)) == nil)
        one.release()
        two.release()
        #expect(try await cache.faults() == [])
        #expect(world.files.isEmpty)
    }

    @Test func `many who adopt, find, remove and let go at once see whole files`() async throws {
        let cache = try await world.open(limit: 60)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for step in 0..<40 {
                        let node = Int64((worker * 7 + step * 3) % 10)
                        let file: DownloadedFile?
                        switch (worker + step) % 4 {
                        case 0, 1: file = try await cache.add(node, size: 5 + step % 9, eTag: "\(worker).\(step)")
                        case 2: file = try await cache.file(CacheWorld.key(node))
                        default:
                            try await cache.remove(CacheWorld.key(node))
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
        #expect(world.files.count == usage.count)
    }
}
