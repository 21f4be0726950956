import Foundation
import Strata
import Testing

/// Steps of several contexts, one after the other.
struct SavingHistory: CustomStringConvertible {
    /// What may happen in random histories.
    enum ActionSet: String, CustomTestStringConvertible {
        /// Inserts, edits, saves, commits, chains, rollbacks, savepoints and batch updates under `.error`.
        case plain
        /// Deletes, batch deletes, undo, redo, `.mine` and `.theirs` too.
        case full
        /// The same with few rows, and with many more deletes, undos and redos.
        case undoing

        var testDescription: String { rawValue }
    }

    /// A row's name is the value that it was inserted with, so that steps can be left out.
    indirect enum Step: Sendable {
        case insert(Int)
        case set(Int64, Int, Int)
        case delete(Int64)
        case save(MergePolicy)
        case commit(MergePolicy)
        /// Saves the context and all of its parents as one chain.
        case saveChain(MergePolicy)
        case rollback(includingSaved: Bool)
        case rollbackObject(Int64)
        /// Steps in a savepoint. The savepoint throws if one of its steps throws, or at its end. A save in it takes
        /// place when the outermost savepoint returns.
        case savepoint([Step], isTakenBack: Bool)
        /// Sets a column of all committed rows whose first column has a value in the range.
        case batchSet(ClosedRange<Int>, Int, Int)
        case batchDelete(ClosedRange<Int>)
        case undo
        case redo
    }

    static let contexts = ["root", "main", "network", "other", "deep"]
    /// The default number of steps of a random history.
    static let length = 160

    var steps: [(context: String, step: Step)]
    /// Whether live queries are followed and compared, too.
    var isFollowed = false

    static var newModel: ReferenceModel {
        ReferenceModel([("root", nil), ("main", "root"), ("network", "main"), ("other", "main"), ("deep", "network")])
    }

    // MARK: Random ones

    init(seed: UInt64, steps count: Int, actions: ActionSet) {
        var generator = SeededGenerator(seed: seed)
        var model = Self.newModel
        steps = []
        for number in 1...count {
            let context = Self.contexts.randomElement(using: &generator)!
            let rows = model.view(context).keys.sorted()
            let step = Step.random(number, rows, actions, &generator) { [model] row, column in
                model.levels[context]?[row]?.lazy.compactMap { $0.edits[column]?.original }.first
            }
            steps.append((context, step))
            _ = model.apply(step, in: context)
        }
    }

    // MARK: As text

    var description: String { steps.map { "\($0.context) \($0.step)" }.joined(separator: "; ") }

    /// - Parameter text: the text that ``description`` returns.
    init(_ text: String) {
        steps = text.split(whereSeparator: { $0 == ";" || $0.isNewline }).compactMap { line in
            let words = line.split(separator: " ")
            guard words.count > 1, let step = Step(words.dropFirst()) else { return nil }
            return (String(words[0]), step)
        }
    }

    // MARK: Shortening

    /// A shorter history that also fails, but does not fail if any one of its steps is left out.
    func shortened() async throws -> SavingHistory {
        guard let failure = try await firstFailure() else { return self }
        var shortest = self
        shortest.steps.removeSubrange((failure.step + 1)...)
        var length = max(1, shortest.steps.count / 2)
        while true {
            var isShorter = false
            var start = max(0, shortest.steps.count - length)
            while true {
                var shorter = shortest
                shorter.steps.removeSubrange(start..<min(start + length, shorter.steps.count))
                if !shorter.steps.isEmpty, let failure = try await shorter.firstFailure() {
                    shorter.steps.removeSubrange((failure.step + 1)...)
                    shortest = shorter
                    isShorter = true
                }
                if start == 0 { break }
                start = max(0, min(start, shortest.steps.count) - length)
            }
            if length == 1 && !isShorter { return shortest }
            if !isShorter { length = max(1, length / 2) }
        }
    }
}

extension SavingHistory.Step: CustomStringConvertible {
    fileprivate static func random(
        _ number: Int,
        _ rows: [Int64],
        _ actions: SavingHistory.ActionSet,
        _ generator: inout SeededGenerator,
        seen: (_ row: Int64, _ column: Int) -> Int?
    ) -> SavingHistory.Step {
        let policies: [MergePolicy] = actions != .plain ? [.error, .error, .mine, .theirs] : [.error]
        let policy = policies.randomElement(using: &generator)!
        if actions == .undoing, rows.count > 2 {
            switch Int.random(in: 0..<40, using: &generator) {
            case 0..<8: return .undo
            case 8..<11: return .redo
            case 11..<18: return .delete(rows.randomElement(using: &generator)!)
            default: break
            }
        }
        switch Int.random(in: 0..<112, using: &generator) {
        case 100..<104:
            let steps = (0..<Int.random(in: 1...4, using: &generator)).map { index in
                inSavepoint(number, index, rows, actions, policy, &generator)
            }
            return .savepoint(steps, isTakenBack: Bool.random(using: &generator))
        case 104..<(actions == .plain ? 112 : 107):
            let low = Int.random(in: 0...(number * 10), using: &generator)
            return .batchSet(low...(low + number), Int.random(in: 0..<3, using: &generator), number * 10 + 2)
        case 107:
            let low = Int.random(in: 0...(number * 10), using: &generator)
            return .batchDelete(low...(low + 40))
        case 108..<111: return .undo
        case 111: return .redo
        case 0..<(rows.count < 3 ? 30 : 6): return .insert(number * 10)
        case ..<55:
            guard let row = rows.randomElement(using: &generator) else { return .insert(number * 10) }
            let column = Int.random(in: 0..<3, using: &generator)
            // Sometimes the step sets the earlier value again.
            if let seen = seen(row, column), Int.random(in: 0..<3, using: &generator) == 0 {
                return .set(row, column, seen)
            }
            return .set(row, column, number * 10 + 1)
        case ..<62 where actions != .plain:
            return rows.randomElement(using: &generator).map(Self.delete) ?? .insert(number * 10)
        case ..<78: return .save(policy)
        case ..<90: return .commit(policy)
        case ..<94: return .saveChain(policy)
        case ..<96: return .rollback(includingSaved: Bool.random(using: &generator))
        default: return rows.randomElement(using: &generator).map(Self.rollbackObject) ?? .save(policy)
        }
    }

    /// One of the steps of a savepoint.
    private static func inSavepoint(
        _ number: Int,
        _ index: Int,
        _ rows: [Int64],
        _ actions: SavingHistory.ActionSet,
        _ policy: MergePolicy,
        _ generator: inout SeededGenerator
    ) -> SavingHistory.Step {
        guard let row = rows.randomElement(using: &generator) else { return .insert(number * 10 + 3 + index) }
        switch Int.random(in: 0..<10, using: &generator) {
        case 0, 1: return .insert(number * 10 + 3 + index)
        case 2, 3: return .save(policy)
        case 4 where actions != .plain: return .delete(row)
        case 5:
            return .savepoint(
                [.set(row, 0, number * 10 + 7), .insert(number * 10 + 3 + index)],
                isTakenBack: index % 2 == 0
            )
        default: return .set(row, Int.random(in: 0..<3, using: &generator), number * 10 + 3 + index)
        }
    }

    var description: String {
        func name(_ policy: MergePolicy) -> String { policy == .mine ? " mine" : policy == .theirs ? " theirs" : "" }
        switch self {
        case .insert(let value): return "insert \(value)"
        case .set(let row, let column, let value): return "set \(row) \(ReferenceModel.columns[column]) \(value)"
        case .delete(let row): return "delete \(row)"
        case .save(let policy): return "save" + name(policy)
        case .commit(let policy): return "commit" + name(policy)
        case .saveChain(let policy): return "chain" + name(policy)
        case .rollback(let includingSaved): return includingSaved ? "rollback all" : "rollback"
        case .rollbackObject(let row): return "rollback \(row)"
        case .savepoint(let steps, let isTakenBack):
            let inner = steps.map { "\($0)" }.joined(separator: " , ")
            return "savepoint \(isTakenBack ? "taken back " : "")( \(inner) )"
        case .batchSet(let range, let column, let value):
            return "batch \(range.lowerBound) \(range.upperBound) \(ReferenceModel.columns[column]) \(value)"
        case .batchDelete(let range): return "batch \(range.lowerBound) \(range.upperBound) delete"
        case .undo: return "undo"
        case .redo: return "redo"
        }
    }

    fileprivate init?(_ words: ArraySlice<Substring>) {
        let words = Array(words)
        if words[0] == "savepoint" {
            guard let start = words.firstIndex(of: "("), words.last == ")" else { return nil }
            var depth = 0
            let inner = words[(start + 1)..<(words.count - 1)].split { word in
                depth += word == "(" ? 1 : word == ")" ? -1 : 0
                return depth == 0 && word == ","
            }
            let steps = inner.compactMap { Self($0) }
            guard steps.count == inner.count else { return nil }
            self = .savepoint(steps, isTakenBack: start > 1)
            return
        }
        if words[0] == "batch", words.count > 3, let low = Int(words[1]), let high = Int(words[2]), low <= high {
            if words[3] == "delete" {
                self = .batchDelete(low...high)
                return
            }
            guard words.count == 5, let column = ReferenceModel.columns.firstIndex(of: String(words[3])),
                let value = Int(words[4])
            else { return nil }
            self = .batchSet(low...high, column, value)
            return
        }
        let row = words.count > 1 ? Int64(words[1]) : nil
        let policy: MergePolicy = words.last == "mine" ? .mine : words.last == "theirs" ? .theirs : .error
        switch (words[0], row) {
        case ("insert", let row?): self = .insert(Int(row))
        case ("set", let row?):
            guard words.count == 4, let column = ReferenceModel.columns.firstIndex(of: String(words[2])),
                let value = Int(words[3])
            else { return nil }
            self = .set(row, column, value)
        case ("delete", let row?): self = .delete(row)
        case ("save", nil): self = .save(policy)
        case ("commit", nil): self = .commit(policy)
        case ("chain", nil): self = .saveChain(policy)
        case ("rollback", let row?): self = .rollbackObject(row)
        case ("undo", nil): self = .undo
        case ("redo", nil): self = .redo
        case ("rollback", nil): self = .rollback(includingSaved: words.last == "all")
        default: return nil
        }
    }
}

extension ReferenceModel {
    mutating func apply(_ step: SavingHistory.Step, in context: String) -> SaveOutcome {
        defer {
            tidy()
            closeGroup(context)
        }
        return carryOut(step, in: context)
    }

    private mutating func carryOut(
        _ step: SavingHistory.Step,
        in context: String,
        isInSavepoint: Bool = false
    ) -> SaveOutcome {
        switch step {
        case .save, .commit: if !isInSavepoint { dropNoOpChanges(context) }
        case .saveChain: for level in path(context) { dropNoOpChanges(level) }
        default: break
        }
        switch step {
        case .savepoint(let steps, let isTakenBack):
            // No other context does anything in the meantime.
            let before = self
            for step in steps {
                // The root's save would be a commit.
                let isSave = if case .save = step { true } else { false }
                let isRefused = isSave && parents[context] == nil
                let outcome =
                    isRefused ? SaveOutcome(code: .invalidState) : carryOut(step, in: context, isInSavepoint: true)
                tidy()
                if outcome != .success {
                    self = before
                    return outcome
                }
            }
            if isTakenBack { self = before }
            if !isInSavepoint, let policy = postponedSave {
                postponedSave = nil
                let outcome = save(context, policy)
                if outcome != .success { self = before }
                return outcome
            }
        case .batchSet(let range, let column, let value):
            for (number, row) in store where range.contains(row[0]) { store[number]?[column] = value }
        case .batchDelete(let range): store = store.filter { !range.contains($0.value[0]) }
        case .undo: undo(context)
        case .redo: redo(context)
        case .insert(let value): insert(Int64(value), [value, value, value], in: context)
        case .set(let row, let column, let value): set(row, column, value, in: context)
        case .delete(let row): delete(row, in: context)
        case .save(let policy):
            guard isInSavepoint else { return save(context, policy) }
            // The outermost savepoint carries out the last save.
            postponedSave = policy
            var checked = self
            return checked.save(context, policy)
        case .commit(let policy): return commit(context, policy)
        case .saveChain(let policy): return commit(context, with: Set(path(context)), policy)
        case .rollback(let includingSaved): rollback(context, includingSaved: includingSaved)
        case .rollbackObject(let row): if view(context)[row] != nil { rollback(context, only: [row]) }
        }
        return .success
    }
}
