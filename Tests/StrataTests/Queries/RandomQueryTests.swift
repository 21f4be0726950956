import Foundation
import Testing

@testable import Strata

/// Random data in layers three deep, and random queries. A context answers each query, and so does a plain database
/// with the rows that the context must show. Saves and commits that must be refused because of conflicts, missing
/// references or duplicate values are refused, and change nothing.
///
/// Environment:
/// - `STRATA_QUERY_SEED`: the seed of the only run, to reproduce a failure.
/// - `STRATA_QUERY_RUNS`: the number of runs, 5 by default; each run compares about 1,000 answers. 100 runs take some
/// minutes.
@Suite struct RandomQueryTests {
    @Test("A context answers every query like the same SQL after a flush", arguments: seeds)
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
            run.stateModel.levels[handle.id] = StockStateModel.Level(
                parent: handle.parent?.id,
                readsCommitted: handle === committed
            )
        }
        try await stack.on(.root) { context in
            for _ in 0..<60 { try run.edit(context, at: context.id) }
            try run.check(context, at: context.id, questions: 2)
            try run.commit(context, at: context.id)
        }
        for step in 0..<14 {
            let handle = step < 4 ? handles[step] : handles.randomElement(using: &run.generator)!
            if run.generator.chance(5) {
                try await stack.background(parent: .context(other)) { try run.worker($0, parent: other.id) }
            } else {
                try await handle.perform { try run.turn($0, at: handle.id) }
            }
            for _ in 0..<2 {
                let quick = handles.randomElement(using: &run.generator)!
                try await quick.perform { try run.quickTurn($0, at: quick.id) }
            }
            // A context without edits of its own shows what the other contexts have saved and published.
            let watcher = handles.randomElement(using: &run.generator)!
            try await watcher.perform { try run.check($0, at: watcher.id, questions: 12) }
        }
        #expect(run.cases > 300)
        try await stack.close()
    }

    static var seeds: [UInt64] {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["STRATA_QUERY_SEED"].flatMap(UInt64.init) { return [seed] }
        let count = environment["STRATA_QUERY_RUNS"].flatMap(Int.init) ?? 5
        // The five runs of CI are the same every time. If there are more, they are different every time.
        let first = count > 5 ? UInt64.random(in: 0..<(1 << 40)) : 1
        return (0..<UInt64(count)).map { first + $0 }
    }
}

extension StockRun {
    /// A block with edits, queries between them, and perhaps a save or commit at the end.
    func turn(_ context: SavingContext, at level: Int) throws {
        for _ in 0...generator.below(2) {
            for _ in 0...generator.below(8) { try edit(context, at: level) }
            try check(context, at: level, questions: 8)
        }
        if try end(context, at: level, of: 4) { try check(context, at: level, questions: 8) }
    }

    /// A block without queries, so that contexts meet each other often.
    func quickTurn(_ context: SavingContext, at level: Int) throws {
        for _ in 0...generator.below(4) { try edit(context, at: level) }
        _ = try end(context, at: level, of: 2)
    }

    /// Perhaps saves or commits, and returns whether it did. A refused save or commit is rolled back, or left for a
    /// later attempt.
    private func end(_ context: SavingContext, at level: Int, of choices: Int) throws -> Bool {
        let isDone: Bool
        switch generator.below(choices) {
        case 0: isDone = try save(context, at: level)
        case 1: isDone = try commit(context, at: level)
        default: return false
        }
        if !isDone && generator.chance(2) { rollback(context, at: level) }
        return true
    }

    /// The block of a worker whose context ends with the block. Its unsaved changes are dropped.
    func worker(_ context: SavingContext, parent: Int) throws {
        stateModel.levels[context.id] = StockStateModel.Level(parent: parent, readsCommitted: false)
        note(context.id, "begins")
        try check(context, at: context.id, questions: 4)
        try turn(context, at: context.id)
        stateModel.levels[context.id] = nil
    }

    private func save(_ context: SavingContext, at level: Int) throws -> Bool {
        guard let parent = stateModel.levels[level]?.parent else { return try commit(context, at: level) }
        stateModel.dropNoOpChanges(level)
        let before = stateModel
        applyRulesAgain(level)
        let refusals = stateModel.refusals(ofSaving: level, to: parent)
        guard try isDone("save", context, level, refusals, { try context.save() }) else {
            stateModel = before
            return false
        }
        stateModel.save(level, to: parent)
        return true
    }

    @discardableResult
    func commit(_ context: SavingContext, at level: Int) throws -> Bool {
        guard stateModel.canCommit(level) else { return true }
        stateModel.dropNoOpChanges(level)
        let refusals = stateModel.refusals(ofCommitting: level)
        guard try isDone("commit", context, level, refusals, { try context.commit() }) else { return false }
        stateModel.commit(level)
        return true
    }

    /// Saves or commits, and returns whether that succeeded. It must succeed unless there is a reason to refuse it.
    private func isDone(
        _ name: String,
        _ context: ObjectContext,
        _ level: Int,
        _ refusals: Set<StrataError.Code>,
        _ body: () throws -> Void
    ) throws -> Bool {
        context.mergePolicy = refusals.contains(.conflict) ? .error : .mine
        note(level, refusals.isEmpty ? name : "\(name), refused with \(refusals.map(\.description).sorted())")
        do {
            try body()
            if !refusals.isEmpty { fail("the \(name) of \(level) was not refused") }
            return true
        } catch let error as StrataError {
            if !refusals.contains(error.code) { fail("the \(name) of \(level) was refused:\n\(error)") }
            return false
        }
    }

    private func rollback(_ context: ObjectContext, at level: Int) {
        let includingSaved = generator.chance(2)
        note(level, includingSaved ? "rollback all" : "rollback")
        context.rollback(includingSaved: includingSaved)
        stateModel.rollback(level, includingSaved: includingSaved)
    }
}
