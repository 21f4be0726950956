import Foundation
import Strata
import Synchronization
import Testing

/// Readers see the store and all layers at one moment. So the sum over all cells never changes, whichever writer moves
/// values between cells, and whichever way the values take to the store.
///
/// `STRATA_TORN_SECONDS` sets the duration of the test, in seconds; 2 by default.
@Suite(.serialized) struct TornReadTests {
    static let cells = 40
    static let total = cells * 100

    private func sum(_ context: ObjectContext) throws -> Int {
        try context.rows(Cell.all).reduce(0) { $0 + $1.a }
    }

    @Test("A reader never sees half of a save or of a commit")
    func sums() async throws {
        let seconds = ProcessInfo.processInfo.environment["STRATA_TORN_SECONDS"].flatMap { Double($0) } ?? 2
        let fixture = try await SavingFixture()
        let stack = fixture.stack
        try await stack.on(.root) { context in
            for _ in 0..<Self.cells { context.insert(Cell(a: 100)) }
            try context.commit()
        }
        let deadline = ContinuousClock.now + .seconds(seconds)
        let counts = Counts()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, parent) in [ContextChoice.named(.root), .named(.main), .named(.network)].enumerated() {
                // Each writer has separate cells. If two writers changed the same cell, the sums of both could not
                // hold.
                group.addTask {
                    var generator = SeededGenerator(seed: UInt64(index + 1))
                    while ContinuousClock.now < deadline {
                        let random = generator.next()
                        try await stack.background(parent: parent) { context in
                            let own = try context.fetch(Cell.all).filter { $0.id.rawValue % 3 == Int64(index) }
                            own[Int(random % UInt64(own.count))].a -= 7
                            own[Int(random / 64 % UInt64(own.count))].a += 7
                            if index == 2 { try context.save() } else { try context.commit() }
                        }
                        // Saved values travel to the store through all levels, by one step or another.
                        if index == 2 {
                            if random % 2 == 0 { try await stack.save(.network) }
                            if random % 3 == 0 { try await stack.save(.main) }
                            if random % 5 == 0 { try await stack.commit(.network) }
                            if random % 7 == 0 { try await stack.commit(.main) }
                            if random % 11 == 0 { try await stack.commit(.root) }
                        }
                        counts.moves.add(1, ordering: .relaxed)
                    }
                }
                group.addTask {
                    while ContinuousClock.now < deadline {
                        counts.check(try await stack.background(parent: parent) { [try sum($0), try sum($0)] })
                    }
                }
            }
            // Synchronous reads on the main actor.
            group.addTask { try await readTurns(stack, until: deadline, counts) }
            try await group.waitForAll()
        }
        let (reads, moves) = (counts.reads.load(ordering: .relaxed), counts.moves.load(ordering: .relaxed))
        print("\(reads) reads beside \(moves) transfers")
        #expect(counts.torn.load(ordering: .relaxed) == 0, "of \(reads) reads beside \(moves) transfers")
        #expect(reads > 0 && moves > 0)
        try await stack.commit(.network)
        #expect(try plainRows(fixture.url, "SELECT sum(a) FROM Cell") == [[Self.total]])
        try await fixture.close()
    }

    @MainActor private func readTurns(
        _ stack: ContextStack,
        until deadline: ContinuousClock.Instant,
        _ counts: Counts
    ) async throws {
        while ContinuousClock.now < deadline {
            counts.check([try sum(try stack.main)])
            await Task.yield()
        }
    }

    private final class Counts: Sendable {
        let reads = Atomic(0)
        let torn = Atomic(0)
        let moves = Atomic(0)

        func check(_ sums: [Int]) {
            reads.add(sums.count, ordering: .relaxed)
            torn.add(sums.filter { $0 != TornReadTests.total }.count, ordering: .relaxed)
        }
    }
}
