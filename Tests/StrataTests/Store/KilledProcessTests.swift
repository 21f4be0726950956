import Foundation
import StoreModels
import Testing

@testable import Strata

@Suite("A killed process") struct KilledProcessTests {
    /// The commits that the children have acknowledged.
    private struct Ledger {
        var last = 0
        /// The ids of each position, and all ids ever seen.
        var ids: [Int: [Int64]] = [:]
        var used: Set<Int64> = []
        var faults: [String] = []

        mutating func take(_ position: Int, _ new: [Int64]) {
            if position != last + 1 { faults.append("\(position) came after \(last)") }
            last = position
            ids[position] = new
            for id in new where !used.insert(id).inserted { faults.append("id \(id) of \(position) was used before") }
        }

        mutating func take(line: String) {
            let numbers = line.split(separator: " ").compactMap { Int64($0) }
            if numbers.count == 4 { take(Int(numbers[0]), Array(numbers[1...])) } else { faults.append(line) }
        }
    }

    @Test("After a kill the store has every acknowledged commit, and at most the one in flight (seed: STRATA_SEED)")
    func kills() async throws {
        let environment = ProcessInfo.processInfo.environment
        let seed = SeededGenerator.seed
        let rounds = environment["STRATA_KILLS"].flatMap(Int.init) ?? 200
        var random = SeededGenerator(seed: seed)
        let folder = try ScratchFolder()
        let url = folder.file("bank.sqlite")
        let first = try await openBank(url)
        try await first.on(.root) { try Bank.found(in: $0) }
        try await first.close()
        var ledger = Ledger()
        var inFlight = 0
        for round in 0..<rounds {
            let child = try HelperProcess("transfer", url.path)
            // Some children die while they open the store, the others after a few commits, each at a random moment.
            let lives = Int.random(in: 0..<6, using: &random)
            for _ in 0..<lives { ledger.take(line: try await child.next()) }
            let pause =
                lives == 0 ? Int.random(in: 0..<40_000, using: &random) : Int.random(in: 0..<4000, using: &random)
            try await Task.sleep(for: .microseconds(pause))
            child.kill()
            for line in await child.end() { ledger.take(line: line) }

            let stack = try await openBank(url)
            let audit = try await stack.on(.root) { try Bank.audit($0) }
            try await stack.close()
            #expect(audit.faults == [], "seed \(seed), round \(round)")
            if audit.last == ledger.last + 1 {
                // The last commit reached the store, but its acknowledgement did not reach the pipe.
                inFlight += 1
                ledger.take(audit.last, audit.ids[audit.last] ?? [])
            }
            #expect(audit.last == ledger.last, "seed \(seed), round \(round)")
            for (position, ids) in audit.ids {
                #expect(ids.sorted() == ledger.ids[position]?.sorted(), "seed \(seed), round \(round), \(position)")
            }
            #expect(ledger.faults == [], "seed \(seed), round \(round)")
            guard audit.faults == [], audit.last == ledger.last, ledger.faults == [] else { return }
        }
        #expect(ledger.last > rounds / 4, "too few commits to say anything, seed \(seed); \(inFlight) in flight")
    }
}
