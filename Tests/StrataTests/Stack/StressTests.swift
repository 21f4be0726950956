import Synchronization
import Testing

@testable import Strata

@Suite("Many threads on one stack", .timeLimit(.minutes(2)))
struct StressTests {
    @Test("Many tasks on one stack lose no change, never interleave, and never see the stack of another task")
    func manyTasks() async throws {
        let stack = try openItems(.standard)
        let names = (0..<4).map { ContextName("worker \($0)") }
        for name in names { try stack.create(.private, named: name) }
        let inside = names.map { _ in Counter() }
        let base = try stack.all
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<400 {
                group.addTask {
                    let slot = index % names.count
                    let handle = try stack[names[slot]]
                    switch index % 5 {
                    case 0:
                        try await stack.on(names[slot]) { context in
                            context.insert(index)
                            #expect(inside[slot].enter())
                            let all = try stack.all
                            #expect(all == [handle])
                            inside[slot].leave()
                        }
                    case 1:
                        try await handle.perform { context in
                            #expect(inside[slot].enter())
                            context.insert(index)
                            await Task.yield()
                            let all = try stack.all
                            #expect(all == [handle])
                            inside[slot].leave()
                        }
                    case 2:
                        try await stack.background(parent: .named(names[slot])) { context in
                            context.insert(index)
                            try context.save()
                        }
                    case 3:
                        try await stack.push(.private) { context in
                            context.insert(index)
                            let all = try stack.all
                            #expect(all.count == base.count + 1)
                            try await stack.push(.private) { _ in }
                            try context.commit()
                        }
                    default:
                        try await stack.on(.main) { $0.insert(index) }
                        stack.saveLater(names[slot])
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try stack.all == base)
        for name in names { try await stack.save(name) }
        try await stack.save()
        #expect(try stack.stored() == Array(0..<400))
        try await stack.close()
    }

    @Test("Randomly nested blocks end with a value or a deadlock error, and never hang", arguments: 0..<4)
    func randomRings(_ round: UInt64) async throws {
        let seed = round == 0 ? SeededGenerator.seed : round
        let outcome = try await nest(seed: seed, ascending: false)
        #expect(outcome.free, "seed \(seed)")
    }

    @Test("Blocks that are nested in one fixed order never report a deadlock", arguments: 0..<4)
    func noFalseRings(_ round: UInt64) async throws {
        let seed = round == 0 ? SeededGenerator.seed : round
        let outcome = try await nest(seed: seed, ascending: true)
        #expect(outcome.free && outcome.rings == 0, "seed \(seed)")
    }

    private func nest(seed: UInt64, ascending: Bool) async throws -> (rings: Int, free: Bool) {
        let stack = try openItems(.standard)
        var handles = [try stack[.main]]
        for _ in 0..<4 { handles.append(try stack.create(.private)) }
        let contexts = handles
        let rings = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<40 {
                var generator = SeededGenerator(seed: seed &+ UInt64(task) &* 7919)
                var path = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
                    contexts.randomElement(using: &generator) ?? contexts[0]
                }
                if ascending { path.sort { $0.id < $1.id } }
                let steps = path
                group.addTask {
                    do {
                        try await Self.enter(steps[...])
                    } catch let error as StrataError where error.code == .deadlock {
                        _ = rings.enter()
                    }
                }
            }
            try await group.waitForAll()
        }
        return (rings.value, contexts.allSatisfy { $0.owner.mutex.holder == nil })
    }

    private static func enter(_ path: ArraySlice<ContextHandle>) async throws {
        guard let first = path.first else { return }
        try await first.perform { _ in
            await Task.yield()
            try await enter(path.dropFirst())
        }
    }
}

/// Counts, and returns whether the count was zero before.
final class Counter: Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }

    func enter() -> Bool {
        count.withLock { count in
            count += 1
            return count == 1
        }
    }

    func leave() { count.withLock { $0 -= 1 } }
}

@Model private final class Tally {
    var count: Int = 0
    /// A different value for each step, so that no two steps are equal.
    var stamp: Int
}

private enum KeptTally: ContextStateKey { typealias Value = Tally }

@Suite("Live objects and simultaneous commits by others", .timeLimit(.minutes(2)))
struct LiveObjectStressTests {
    /// A live object shows the values that its context has committed, not earlier ones. Otherwise the next step would
    /// start from an old value, unnoticed.
    @Test("Two contexts that count in one object lose no step, with live objects or without", arguments: [false, true])
    func counts(onMain: Bool) async throws {
        let stack = try await ContextStack.open(.inMemory, models: [Tally.self])
        try await stack.background { context in
            context.insert(Tally(stamp: 0))
            try context.commit()
        }
        let name: ContextName = onMain ? .main : "keeper"
        if !onMain { try stack.create(.private, named: name) }
        try await stack.on(name) { $0.state[KeptTally.self] = try $0.first(Tally.all) }
        let steps = 600
        async let others = Self.count(steps) { step in
            try await stack.background(parent: .named(.root)) { try Self.countUp($0, -step) }
        }
        let own = try await Self.count(steps) { step in
            try await stack.on(name) { context in
                do {
                    try Self.countUp(context, step)
                } catch {
                    context.rollback()
                    throw error
                }
            }
        }
        let acknowledged = try await own + others
        let stored = try await stack.background { try #require(try $0.first(Tally.all)).count }
        #expect(stored == acknowledged)
        try await stack.close()
    }

    private static func countUp(_ context: SavingContext, _ step: Int) throws {
        let tally = try #require(try context.first(Tally.all))
        tally.count += 1
        tally.stamp = step
        try context.commit()
    }

    /// The number of steps without a conflict.
    private static func count(_ steps: Int, _ step: @Sendable (Int) async throws -> Void) async throws -> Int {
        var done = 0
        for number in 1...steps {
            do {
                try await step(number)
                done += 1
            } catch let error as StrataError where error.code == .conflict {}
        }
        return done
    }
}
