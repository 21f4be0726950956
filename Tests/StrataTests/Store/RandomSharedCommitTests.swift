import Foundation
import StoreModels
import Testing

@testable import Strata

private let roundCount = 30
private let rowCount = 10
private let contextCount = 8
/// The greatest value of `high`.
private let highest = 100
private let policies: [MergePolicy] = [.error, .error, .mine, .mine, .theirs]

/// Eight contexts edit ten rows and commit together. The same edits are played on a second store, where each commit has
/// a separate transaction. In addition, the history of the first store is played on plain numbers.
@Suite("Random commits that share transactions", .timeLimit(.minutes(10))) struct RandomSharedCommitTests {
    /// An edit of a row: of the column `low`, of `high`, or of both.
    private struct Edit: Sendable, CustomStringConvertible {
        var row: Int
        var low: Int?
        var high: Int?

        var description: String { "\(row): \(low.map(String.init) ?? "-")...\(high.map(String.init) ?? "-")" }
    }

    /// The edits of one context, and how it commits them.
    private struct Plan: Sendable, CustomStringConvertible {
        var policy: MergePolicy
        var edits: [Edit]

        var description: String { "\(policy) \(edits)" }

        /// Draws edits that leave the rows valid, as long as no other context changes them.
        static func random(_ rows: [[Int]], _ dice: inout SeededGenerator) -> Plan {
            var rows = rows
            var edits: [Edit] = []
            for _ in 0..<dice.number(1..<5) {
                let row = dice.number(0..<rows.count)
                let kind = dice.number(0..<5)
                if kind < 3 { rows[row][0] = dice.number(0..<rows[row][1] + 1) }
                if kind > 1 { rows[row][1] = dice.number(rows[row][0]..<highest + 1) }
                edits.append(Edit(row: row, low: kind < 3 ? rows[row][0] : nil, high: kind > 1 ? rows[row][1] : nil))
            }
            return Plan(policy: dice.pick(policies) ?? .error, edits: edits)
        }
    }

    /// The outcome of a round. It does not depend on how many commits share a transaction.
    private struct Outcome: Equatable {
        var codes: [StrataError.Code?]
        var rows: [[Int]]
        /// The number of new history entries.
        var commitCount: Int
    }

    /// A store with its contexts, on which rounds are played.
    private struct Player: Sendable {
        let store: SharingStore
        let ids: [ObjectID<Range2>]
        let contexts: [ContextHandle]

        init(isSharing: Bool) async throws {
            store = try await SharingStore(isSharing: isSharing)
            ids = try await store.stack.on(.root) { context in
                let ranges = (0..<rowCount).map { _ in context.insert(Range2(low: 0, high: highest)) }
                try context.commit()
                return ranges.map(\.id)
            }
            contexts = try store.contexts(contextCount)
        }

        func rows() throws -> [[Int]] { try plainRows(store.url, "SELECT low, high FROM Range2 ORDER BY id") }

        /// Plays a round, and notes the faults in its results.
        func play(_ plans: [Plan], _ faults: inout [String]) async throws -> (Outcome, transactions: Int) {
            let (stack, before) = (store.stack, try rows())
            for (index, plan) in plans.enumerated() {
                try await edit(plan, index)
            }
            let token = stack.historyToken
            let outcomes = try await store.commitTogether(contexts)
            let history = try await stack.history(since: token)
            let after = try rows()
            if replay(history, of: plans, onto: before) != after { faults.append("the history leads to other rows") }
            if !after.allSatisfy({ $0[0] <= $0[1] }) { faults.append("an invalid row") }
            for changes in history where outcomes.codes[Int(changes.author ?? "") ?? 0] != nil {
                faults.append("a failed commit has a history entry")
            }
            let numbers = history.indices.map { token.sequence + Int64($0) + 1 }
            if history.map(\.token.sequence) != numbers { faults.append("the numbers of commits have gaps") }
            for (index, handle) in contexts.enumerated() {
                let ids = ids
                let shown = try await handle.perform { context in
                    context.rollback()
                    return try ids.map { id in try context.find(id).map { [$0.low, $0.high] } ?? [] }
                }
                if shown != after { faults.append("context \(index) shows \(shown)") }
            }
            return (Outcome(codes: outcomes.codes, rows: after, commitCount: history.count), outcomes.transactions)
        }

        private func edit(_ plan: Plan, _ index: Int) async throws {
            let ids = ids
            try await contexts[index].perform { context in
                context.author = "\(index)"
                context.mergePolicy = plan.policy
                for edit in plan.edits {
                    let range = try #require(try context.find(ids[edit.row]))
                    if let low = edit.low { range.low = low }
                    if let high = edit.high { range.high = high }
                }
            }
        }

        /// The rows that result if each commit of the history, in order, sets the columns that its entry names.
        private func replay(_ history: [ChangeSet], of plans: [Plan], onto rows: [[Int]]) -> [[Int]] {
            var rows = rows
            for changes in history {
                guard let index = changes.author.flatMap(Int.init), plans.indices.contains(index) else { return [] }
                let changes = changes.of(Range2.self)
                for (row, id) in ids.enumerated() {
                    let columns = changes.updatedColumns(of: id)
                    let edits = plans[index].edits.filter { $0.row == row }
                    if columns.contains("low"), let low = edits.compactMap(\.low).last { rows[row][0] = low }
                    if columns.contains("high"), let high = edits.compactMap(\.high).last { rows[row][1] = high }
                }
            }
            return rows
        }
    }

    @Test("Commits that share transactions do the same as one after the other (seed: STRATA_SEED)")
    func rounds() async throws {
        let seed = SeededGenerator.seed
        var dice = SeededGenerator(seed: seed)
        let (shared, alone) = (try await Player(isSharing: true), try await Player(isSharing: false))
        var transactions = (shared: 0, alone: 0)
        var codes: [StrataError.Code: Int] = [:]
        for round in 0..<roundCount {
            let rows = try shared.rows()
            let plans = (0..<contextCount).map { _ in Plan.random(rows, &dice) }
            var faults: [String] = []
            let (outcome, sharedCount) = try await shared.play(plans, &faults)
            let (expected, aloneCount) = try await alone.play(plans, &faults)
            #expect(outcome == expected, "seed \(seed), round \(round), \(plans)")
            #expect(faults.isEmpty, "seed \(seed), round \(round), \(plans)")
            guard outcome == expected, faults.isEmpty else { break }
            transactions.shared += sharedCount
            transactions.alone += aloneCount
            for case let code? in outcome.codes { codes[code, default: 0] += 1 }
        }
        // The rounds say nothing unless commits fail inside of shared transactions.
        #expect(transactions.alone == roundCount * contextCount, "seed \(seed)")
        #expect(transactions.shared < transactions.alone / 2, "seed \(seed)")
        #expect(codes[.conflict, default: 0] > 0 && codes[.validation, default: 0] > 0, "seed \(seed), \(codes)")
        try await shared.store.stack.close()
        try await alone.store.stack.close()
    }
}
