import Foundation
import Testing

@testable import Strata

/// C14 by chance: random data in layers three deep, and random questions, each answered by a context and by a plain
/// database with the rows that the context must show.
///
/// Environment:
/// - `STRATA_QUERY_SEED`: the seed of the only run, to see a failure again.
/// - `STRATA_QUERY_RUNS`: how many runs instead of 10; each compares about 1,000 answers. 100 take some minutes.
@Suite struct RandomQueryTests {
    @Test("C14: contexts answer as a flush followed by the same SQL would", arguments: seeds)
    func run(seed: UInt64) async throws {
        let run = StockRun(seed: seed)
        let stack = try await ContextStack.open(.inMemory, models: stockModels, mergePolicy: .mine)
        let committed = try stack.create(.private, named: "committed", reads: .committed)
        let other = try stack.push(.private, named: "other")
        let handles: [ContextHandle] = [
            try stack.core.handle(named: .root), try stack.core.handle(named: .main), other, committed,
        ]
        run.fingerprint = stack.core.engine.ids.fingerprint
        for handle in handles {
            run.world.levels[handle.id] = StockWorld.Level(
                parent: handle.parent?.id,
                readsCommitted: handle === committed
            )
        }
        try await stack.on(.root) { context in
            for _ in 0..<60 { try run.edit(context, at: context.id) }
            try run.check(context, at: context.id, questions: 2)
            if run.world.canCommit(context.id) { try run.commit(context, at: context.id) }
        }
        for step in 0..<14 {
            let handle = step < 4 ? handles[step] : handles.randomElement(using: &run.generator)!
            if run.generator.chance(5) {
                try await stack.background(parent: .context(other)) { try run.worker($0, parent: other.id) }
            } else {
                try await handle.perform { try run.turn($0, at: handle.id) }
            }
            // Those that did nothing show what the others have saved and published.
            let watcher = handles.randomElement(using: &run.generator)!
            try await watcher.perform { try run.check($0, at: watcher.id, questions: 12) }
        }
        #expect(run.cases > 300)
        try await stack.close()
    }

    static var seeds: [UInt64] {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["STRATA_QUERY_SEED"].flatMap(UInt64.init) { return [seed] }
        let count = environment["STRATA_QUERY_RUNS"].flatMap(Int.init) ?? 10
        // The runs that CI repeats are the same every time; more of them are others every time.
        let first = count > 10 ? UInt64.random(in: 0..<(1 << 40)) : 1
        return (0..<UInt64(count)).map { first + $0 }
    }
}

extension StockRun {
    /// A block: edits with questions between them, and perhaps a save or commit at the end.
    func turn(_ context: ObjectContext, at level: Int) throws {
        for _ in 0...generator.below(2) {
            for _ in 0...generator.below(8) { try edit(context, at: level) }
            try check(context, at: level, questions: 8)
        }
        switch generator.below(4) {
        case 0: try save(context, at: level)
        case 1: try commit(context, at: level)
        default: return
        }
        try check(context, at: level, questions: 8)
    }

    /// The block of a worker that ends with it; what it has not saved is dropped.
    func worker(_ context: ObjectContext, parent: Int) throws {
        world.levels[context.id] = StockWorld.Level(parent: parent, readsCommitted: false)
        note(context.id, "begins")
        try check(context, at: context.id, questions: 4)
        try turn(context, at: context.id)
        world.levels[context.id] = nil
    }

    func save(_ context: ObjectContext, at level: Int) throws {
        let before = world
        if world.levels[level]?.parent != nil { applyRulesAgain(level) }
        guard world.canSave(level) else {
            world = before
            return
        }
        note(level, "save")
        try context.save()
        world.save(level)
    }

    func commit(_ context: ObjectContext, at level: Int) throws {
        guard world.canCommit(level) else { return }
        note(level, "commit")
        try context.commit()
        world.commit(level)
    }
}
