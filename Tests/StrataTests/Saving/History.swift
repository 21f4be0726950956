import Foundation
import Strata
import Testing

/// Steps of several contexts, one after the other.
struct History: CustomStringConvertible {
    /// What may happen in random histories.
    enum World: String, CustomTestStringConvertible {
        /// Inserts, edits, saves, commits, chains and rollbacks under `.error`.
        case plain
        /// Deletes, `.mine` and `.theirs` too.
        case full

        var testDescription: String { rawValue }
    }

    /// Rows are named by the value that they were inserted with, so that steps can be left out.
    enum Step: Sendable {
        case insert(Int)
        case set(Int64, Int, Int)
        case delete(Int64)
        case save(MergePolicy)
        case commit(MergePolicy)
        /// Saves the context and all of its parents as one chain (H27).
        case saveChain(MergePolicy)
        case rollback(includingSaved: Bool)
        case rollbackObject(Int64)
    }

    static let contexts = ["root", "main", "network", "other", "deep"]
    /// How many steps a random history has unless told otherwise.
    static let length = 160

    var steps: [(context: String, step: Step)]

    static var newModel: ReferenceModel {
        ReferenceModel([("root", nil), ("main", "root"), ("network", "main"), ("other", "main"), ("deep", "network")])
    }

    // MARK: Random ones

    init(seed: UInt64, steps count: Int, world: World) {
        var generator = SeededGenerator(seed: seed)
        var model = Self.newModel
        steps = []
        for number in 1...count {
            let context = Self.contexts.randomElement(using: &generator)!
            let rows = model.view(context).keys.sorted()
            let step = Step.random(number, rows, world, &generator)
            steps.append((context, step))
            _ = model.apply(step, in: context)
        }
    }

    // MARK: As text

    var description: String { steps.map { "\($0.context) \($0.step)" }.joined(separator: "; ") }

    /// - Parameter text: what ``description`` gives.
    init(_ text: String) {
        steps = text.split(whereSeparator: { $0 == ";" || $0.isNewline }).compactMap { line in
            let words = line.split(separator: " ")
            guard words.count > 1, let step = Step(words.dropFirst()) else { return nil }
            return (String(words[0]), step)
        }
    }

    // MARK: Shortening

    /// A history that fails too, and does not once any of its steps is left out.
    func shortened() async throws -> History {
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

extension History.Step: CustomStringConvertible {
    fileprivate static func random(
        _ number: Int,
        _ rows: [Int64],
        _ world: History.World,
        _ generator: inout SeededGenerator
    ) -> History.Step {
        let policies: [MergePolicy] = world == .full ? [.error, .error, .mine, .theirs] : [.error]
        let policy = policies.randomElement(using: &generator)!
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<(rows.count < 3 ? 30 : 6): return .insert(number * 10)
        case ..<55:
            guard let row = rows.randomElement(using: &generator) else { return .insert(number * 10) }
            return .set(row, Int.random(in: 0..<3, using: &generator), number * 10 + 1)
        case ..<62 where world == .full:
            return rows.randomElement(using: &generator).map(Self.delete) ?? .insert(number * 10)
        case ..<78: return .save(policy)
        case ..<90: return .commit(policy)
        case ..<94: return .saveChain(policy)
        case ..<96: return .rollback(includingSaved: Bool.random(using: &generator))
        default: return rows.randomElement(using: &generator).map(Self.rollbackObject) ?? .save(policy)
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
        }
    }

    fileprivate init?(_ words: ArraySlice<Substring>) {
        let words = Array(words)
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
        case ("rollback", nil): self = .rollback(includingSaved: words.last == "all")
        default: return nil
        }
    }
}

extension ReferenceModel {
    mutating func apply(_ step: History.Step, in context: String) -> Outcome {
        defer { tidy() }
        switch step {
        case .insert(let value): insert(Int64(value), [value, value, value], in: context)
        case .set(let row, let column, let value): set(row, column, value, in: context)
        case .delete(let row): delete(row, in: context)
        case .save(let policy): return save(context, policy)
        case .commit(let policy): return commit(context, policy)
        case .saveChain(let policy): return commit(context, with: Set(path(context)), policy)
        case .rollback(let includingSaved): rollback(context, includingSaved: includingSaved)
        case .rollbackObject(let row): if view(context)[row] != nil { rollback(context, only: [row]) }
        }
        return .success
    }
}
