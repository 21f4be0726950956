import FileHome
import FleetFixture
import Foundation
import GRDB
import StoreModels
import Synchronization
import Testing

@testable import Strata

@Suite("Following a home", .timeLimit(.minutes(1)))
struct HomeFollowerTests {
    @Test("The follower can be closed on its own queue, where the last reference to a store may end")
    func closesOnItsQueue() async throws {
        let fleet = try Fleet()
        try await fleet.open("copy").close()
        let home = FileHome(fleet.home)
        let description = HomeDescription(try Schema(Fleet.models), Migration())
        _ = try home.open(description, busyTimeout: 5)
        let path = fleet.copy("copy").path
        let follower = try HomeFollower(home, path: path, .waiting, description)
        let (looks, continuation) = AsyncStream.makeStream(of: Void.self)
        follower.start { _ in
            follower.close()
            continuation.finish()
        }
        for await _ in looks {}
        let error = #expect(throws: StrataError.self) { try follower.catchUp() }
        #expect(error?.code == .closed)
    }

    @Test("A look that fails because the home is being closed is not reported")
    func closesDuringLook() async throws {
        let fleet = try Fleet()
        try await fleet.open("copy").close()
        let faults = HomeFaults()
        let home = FileHome(fleet.home, faults: faults)
        let description = HomeDescription(try Schema(Fleet.models), Migration())
        _ = try home.open(description, busyTimeout: 5)
        let follower = try HomeFollower(home, path: fleet.copy("copy").path, .waiting, description)
        let failures = Mutex(0)
        faults.hold(.transactions)
        follower.start { error in if error != nil { failures.withLock { $0 += 1 } } }
        while faults.heldCount == 0, !Task.isCancelled { await Task.yield() }
        async let closed: Void = withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                follower.close()
                continuation.resume()
            }
        }
        while !follower.isClosing.load(ordering: .relaxed), !Task.isCancelled { await Task.yield() }
        faults.refuse(.transactions)
        faults.releaseCalls()
        await closed
        #expect(failures.withLock { $0 } == 0)
        #expect(faults.count(of: .transactions) == 1)
    }

    @Test("What runs after applied transactions does not run deeper in the stack each time")
    func depth() async throws {
        let fleet = try Fleet()
        try await fleet.open("copy").close()
        let writer = try await fleet.open("writer")
        let home = FileHome(fleet.home)
        let description = HomeDescription(try Schema(Fleet.models), Migration())
        _ = try home.open(description, busyTimeout: 5)
        let follower = try HomeFollower(home, path: fleet.copy("copy").path, .waiting, description)
        defer { follower.close() }
        let depths = Mutex<[Int]>([])
        follower.afterApplying { _ in
            let depth = Thread.callStackReturnAddresses.count
            depths.withLock { $0.append(depth) }
        }
        for index in 0..<20 {
            try await writer.write { context in _ = context.insert(Account(name: "\(index)", balance: 0)) }
            try Self.catchUp(follower)
        }
        try await fleet.close()
        let seen = depths.withLock { $0 }
        #expect(seen.count == 20)
        // Wrappers of functions add one frame or more each time.
        #expect((seen.max() ?? 0) - (seen.min() ?? 0) < 10, "\(seen)")
    }

    /// In a separate function, so that each call has the same depth.
    private static func catchUp(_ follower: HomeFollower) throws { try follower.catchUp() }

    @Test("A copy that meets damaged changes of the home is made again when it is opened")
    func damagedChanges() async throws {
        let fleet = try Fleet()
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        try await right.close()
        try await left.write { context in _ = context.insert(Account(name: "one", balance: 1)) }
        let other = try DatabaseQueue(path: fleet.home.path, configuration: .waiting)
        try await other.write { db in
            try db.execute(sql: "UPDATE feed SET changes = x'FF' WHERE number = (SELECT max(number) FROM feed)")
        }
        try other.close()
        // This call marks the copy, and the next one makes it again.
        let error = await #expect(throws: StrataError.self) { _ = try await fleet.open("right") }
        #expect(error?.code == .damagedStore)
        let again = try await fleet.open("right")
        let count = try await again.background { context in try context.count(Account.all) }
        #expect(count == 1)
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("An id that objects cannot have is refused")
    func idsOutOfRange() async throws {
        let fleet = try Fleet()
        let stack = try await fleet.open("node")
        let ids = try DatabaseQueue(path: fleet.home.path + ".ids", configuration: .waiting)
        try await ids.write { db in try db.execute(sql: "UPDATE ids SET next = \(Int64(1) << 48)") }
        try ids.close()
        let error = #expect(throws: StrataError.self) { try stack.core.engine.writer.reserveIDs(1) }
        #expect(error?.code == .damagedStore)
        try await fleet.close()
    }

    @Test("A program without the migration steps of the home is refused, and the store stays as it is")
    func steps() async throws {
        let fleet = try Fleet()
        try await fleet.open("node").close()
        let migration = Migration().step("new") { _ in }
        try await fleet.open("node", migration: migration).close()
        let error = await #expect(throws: StrataError.self) { _ = try await fleet.open("node") }
        #expect(error?.code == .newerStore)
        _ = try await fleet.open("node", migration: migration)
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("After opening has failed, the home can be used for another attempt")
    func anotherAttempt() async throws {
        let fleet = try Fleet()
        try await fleet.open("node").close()
        let home = FileHome(fleet.home)
        home.faults.refuse(.transactions)
        let location = StoreLocation.shared(home, copy: fleet.copy("node"))
        let error = await #expect(throws: StrataError.self) {
            _ = try await ContextStack.open(location, models: Fleet.models, stack: .rootOnly)
        }
        #expect(error?.code == .unreachable)
        // A closed home would throw.
        _ = try home.newest()
        try await ContextStack.open(location, models: Fleet.models, stack: .rootOnly).close()
    }
}
