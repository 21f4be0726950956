import Foundation
import Strata
import Testing

/// Objects that a context holds from block to block, so that the test also compares the values of live objects.
private enum Held: ContextStateKey { typealias Value = [Int64: Cell] }

extension SavingHistory {
    struct Failure {
        let step: Int
        let text: String
    }

    /// The ids of the rows in the store, by the value that they were inserted with, and the other way round.
    private struct Names {
        var ids: [Int64: Int64] = [:]
        var rows: [Int64: Int64] = [:]
    }

    /// Runs the steps on the engine and on the reference model, up to the first after which they differ.
    func firstFailure() async throws -> Failure? {
        let fixture = try await SavingFixture()
        var handles: [String: ContextHandle] = ["deep": fixture.deep]
        for name in Self.contexts.dropLast() { handles[name] = try fixture.stack[ContextName(name)] }
        let lists = isFollowed ? try await LiveCellLists(fixture, handles) : nil
        let failure = try await firstFailure(in: fixture, handles, lists)
        try await lists?.close()
        try await fixture.close()
        return failure
    }

    private func firstFailure(
        in fixture: SavingFixture,
        _ handles: [String: ContextHandle],
        _ lists: LiveCellLists?
    ) async throws -> Failure? {
        var model = Self.newModel
        var names = Names()
        for (index, (context, step)) in steps.enumerated() {
            let before = model.store
            let token = fixture.stack.historyToken
            let actual = try await perform(step, try #require(handles[context]), fixture, &names)
            let expected = model.apply(step, in: context)
            var problems = told(try await fixture.stack.history(since: token), before, model.store, names)
            if actual != expected { problems.append("outcome is \(actual), not \(expected)") }
            for name in Self.contexts {
                let (shown, live) = try await view(try #require(handles[name]), names)
                let wanted = model.view(name)
                problems += differences(shown, wanted).map { "\(name) shows \($0)" }
                problems += live.filter { wanted[$0.key] != $0.value }.map {
                    "\(name) has a live object \($0.key) with \($0.value.map(String.init(describing:)) ?? "nothing")"
                }
            }
            let stored = try plainRows(fixture.url, "SELECT id, a, b, c FROM Cell").map {
                (names.rows[Int64($0[0])] ?? 0, Array($0.dropFirst()))
            }
            problems += differences(Dictionary(uniqueKeysWithValues: stored), model.store).map { "the store has \($0)" }
            // Between comparisons, lists may skip states.
            if let lists, index % 3 == 0 || index == steps.count - 1 { problems += try await lists.problems() }
            if !problems.isEmpty {
                let state = model.levels.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }
                let text = problems + state.map { "model \($0.key): \($0.value)" }
                return Failure(step: index, text: text.joined(separator: "\n"))
            }
        }
        return nil
    }

    /// The errors in the history of one step.
    private func told(
        _ entries: [ChangeSet],
        _ before: [Int64: [Int]],
        _ after: [Int64: [Int]],
        _ names: Names
    ) -> [String] {
        var problems: [String] = []
        var told: Set<Int64> = []
        for changes in entries.map({ $0.of(Cell.self) }) {
            func rows(_ ids: [ObjectID<Cell>]) -> Set<Int64> { Set(ids.map { names.rows[$0.rawValue] ?? 0 }) }
            let (inserted, updated, deleted) = (rows(changes.inserted), rows(changes.updated), rows(changes.deleted))
            told.formUnion(inserted.union(updated).union(deleted))
            if !inserted.isDisjoint(with: before.keys) {
                problems.append("history: inserted \(inserted), there already")
            }
            if !updated.isSubset(of: before.keys) { problems.append("history: updated \(updated), not there") }
            if !deleted.isSubset(of: before.keys) { problems.append("history: deleted \(deleted), not there") }
        }
        for row in Set(before.keys).union(after.keys) where before[row] != after[row] && !told.contains(row) {
            problems.append("history: nothing is said of \(row)")
        }
        return problems
    }

    private func differences(_ actual: [Int64: [Int]], _ wanted: [Int64: [Int]]) -> [String] {
        Set(actual.keys).union(wanted.keys).sorted().filter { actual[$0] != wanted[$0] }.map { row in
            func text(_ row: [Int]?) -> String { row.map { "\($0)" } ?? "nothing" }
            return "\(text(actual[row])) for \(row), not \(text(wanted[row]))"
        }
    }

    private func perform(
        _ step: Step,
        _ handle: ContextHandle,
        _ fixture: SavingFixture,
        _ names: inout Names
    ) async throws -> SaveOutcome {
        if case .saveChain(let policy) = step { return naming(try await fixture.saveChain(handle, policy), names) }
        let known = names.ids
        let (outcome, ids) = try await fixture.stack.on(handle) { context in
            context.undoLevels = ReferenceModel.undoLevels
            var ids = known
            let outcome = SaveOutcome { try step.carryOut(in: context, &ids) }
            return (outcome, ids)
        }
        names.ids = ids
        for (row, id) in ids { names.rows[id] = row }
        return naming(outcome, names)
    }

    /// The outcome with the names of the rows instead of their ids.
    private func naming(_ outcome: SaveOutcome, _ names: Names) -> SaveOutcome {
        var outcome = outcome
        outcome.places = Set(
            outcome.places.map { place in
                let parts = place.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
                guard let row = Int64(parts[0]).flatMap({ names.rows[$0] }) else { return place }
                return "\(row).\(parts[1])"
            }
        )
        return outcome
    }

    /// The results of a context's queries, and the values of the objects that the context has held.
    private func view(
        _ handle: ContextHandle,
        _ names: Names
    ) async throws -> (rows: [Int64: [Int]], live: [Int64: [Int]?]) {
        try await handle.perform { context in
            var held = context.state[Held.self] ?? [:]
            let live = held.mapValues { cell -> [Int]? in cell.isDeleted ? nil : [cell.a, cell.b, cell.c] }
            var rows: [Int64: [Int]] = [:]
            for cell in try context.rows(Cell.all) {
                rows[names.rows[cell.id.rawValue] ?? 0] = [cell.a, cell.b, cell.c]
            }
            for cell in try context.fetch(Cell.all) {
                if let row = names.rows[cell.id.rawValue], row % 20 == 0 { held[row] = cell }
            }
            context.state[Held.self] = held
            return (rows, live)
        }
    }
}

extension SavingHistory.Step {
    private struct TakenBack: Error {}

    /// - Parameter ids: the ids of the rows by their names.
    fileprivate func carryOut(in context: SavingContext, _ ids: inout [Int64: Int64]) throws {
        func live(_ row: Int64) throws -> Cell? {
            try context.fetch(Cell.all).first { $0.id.rawValue == ids[row] }
        }
        switch self {
        case .insert(let value):
            ids[Int64(value)] = context.insert(Cell(a: value, b: value, c: value)).id.rawValue
        case .set(let row, let column, let value):
            let cell = try live(row)
            switch column {
            case 0: cell?.a = value
            case 1: cell?.b = value
            default: cell?.c = value
            }
        case .delete(let row): try live(row).map { context.delete($0) }
        case .save(let policy):
            context.mergePolicy = policy
            try context.save()
        case .commit(let policy):
            context.mergePolicy = policy
            try context.commit()
        case .saveChain: break
        case .rollback(let includingSaved): context.rollback(includingSaved: includingSaved)
        case .rollbackObject(let row): if let cell = try live(row) { context.rollback([cell]) }
        case .savepoint(let steps, let isTakenBack):
            do {
                try context.savepoint {
                    for step in steps { try step.carryOut(in: context, &ids) }
                    if isTakenBack { throw TakenBack() }
                }
            } catch is TakenBack {
            }
        case .batchSet(let range, let column, let value):
            try context.batchUpdate(Cell.where { $0.a.between(range) }) { cell in
                [cell.a, cell.b, cell.c][column].set(to: value)
            }
        case .batchDelete(let range): try context.batchDelete(Cell.where { $0.a.between(range) })
        case .undo: try context.undo()
        case .redo: try context.redo()
        }
    }
}
