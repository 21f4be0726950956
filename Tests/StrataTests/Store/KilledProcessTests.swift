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

    /// The commits of each worker of ``SharedWork`` that the children have acknowledged.
    private struct SharedLedger {
        var counts = [Int](repeating: 0, count: SharedWork.workerCount)
        /// The number of acknowledged commits, and of the transactions that have written them.
        var commits = 0
        var transactions = 0
        var faults: [String] = []

        /// Takes the lines of one child.
        mutating func take(lines: [String]) {
            var newest = 0
            for line in lines where !line.hasPrefix("done") {
                let numbers = line.split(separator: " ").compactMap { Int($0) }
                guard numbers.count >= 2, counts.indices.contains(numbers[0]) else {
                    faults.append(line)
                    continue
                }
                if numbers[1] != counts[numbers[0]] + 1 { faults.append("'\(line)' after \(counts[numbers[0]])") }
                counts[numbers[0]] = numbers[1]
                commits += 1
                if numbers.count > 2 { newest = max(newest, numbers[2]) }
            }
            transactions += newest
        }

        /// Compares the store with the acknowledged commits.
        mutating func compare(_ store: (counts: [Int], faults: [String])) {
            faults += store.faults
            for (worker, count) in store.counts.enumerated() {
                // The last commit of each worker may have reached the store without its acknowledgement.
                if count != counts[worker], count != counts[worker] + 1 {
                    faults.append("worker \(worker) has \(count) commits, and \(counts[worker]) are acknowledged")
                }
                counts[worker] = count
            }
        }
    }

    private static func audit(_ url: URL) async throws -> (counts: [Int], faults: [String]) {
        let stack = try await ContextStack.open(.sqlite(url), models: SharedWork.models, stack: .rootOnly)
        let audit = try await stack.on(.root) { try SharedWork.audit($0) }
        try await stack.close()
        return audit
    }

    @Test("After a kill, commits that shared transactions are whole, and none that was acknowledged is missing")
    func sharedTransactions() async throws {
        let seed = SeededGenerator.seed
        let rounds = ProcessInfo.processInfo.environment["STRATA_KILLS"].flatMap(Int.init) ?? 60
        var random = SeededGenerator(seed: seed)
        let folder = try ScratchFolder()
        let url = folder.file("shared.sqlite")
        let first = try await ContextStack.open(.sqlite(url), models: SharedWork.models, stack: .rootOnly)
        try await first.on(.root) { try SharedWork.found(in: $0) }
        try await first.close()
        var ledger = SharedLedger()
        for round in 0..<rounds {
            let child = try HelperProcess("share", url.path)
            let lives = Int.random(in: 0..<40, using: &random)
            var lines: [String] = []
            for _ in 0..<lives { lines.append(try await child.next()) }
            let pause =
                lives == 0 ? Int.random(in: 0..<40_000, using: &random) : Int.random(in: 0..<4000, using: &random)
            try await Task.sleep(for: .microseconds(pause))
            child.kill()
            lines += await child.end()
            ledger.take(lines: lines)
            ledger.compare(try await Self.audit(url))
            #expect(ledger.faults == [], "seed \(seed), round \(round)")
            guard ledger.faults == [] else { return }
        }
        #expect(ledger.commits > rounds, "too few commits to say anything, seed \(seed)")
        #expect(ledger.transactions < ledger.commits, "no commits shared a transaction, seed \(seed)")
    }

    /// A step is each change of a file by SQLite, and each lock that SQLite takes or releases.
    ///
    /// By default the test tries at most 200 steps, different ones each time; `STRATA_STEPS=all` tries all.
    @Test("A kill between any two steps of shared transactions leaves whole commits only", .timeLimit(.minutes(20)))
    func sharedSteps() async throws {
        let folder = try ScratchFolder()
        let whole = folder.file("whole.sqlite")
        let lines = try await HelperProcess("groups", whole.path, "0").end()
        let figures = try #require(lines.last).split(separator: " ").compactMap { Int($0) }
        try #require(lines.last?.hasPrefix("done") == true && figures.count == 2, "\(lines)")
        let (count, commits) = (figures[0], SharedWork.groupCount * SharedWork.workerCount)
        #expect(lines.count == commits + 1 && count > 40, "\(count) steps, \(lines)")
        #expect(figures[1] < commits, "no commits shared a transaction")
        let seed = SeededGenerator.seed
        var random = SeededGenerator(seed: seed)
        let isComplete = ProcessInfo.processInfo.environment["STRATA_STEPS"] == "all"
        let distance = isComplete ? 1 : (count + 199) / 200
        for call in stride(from: Int.random(in: 1...distance, using: &random), through: count, by: distance) {
            let url = folder.file("\(call).sqlite")
            var ledger = SharedLedger()
            ledger.take(lines: try await HelperProcess("groups", url.path, "\(call)").end())
            ledger.compare(try await Self.audit(url))
            #expect(ledger.faults == [], "seed \(seed), killed before call \(call) of \(count)")
            guard ledger.faults == [] else { return }
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: url.path + suffix) }
        }
    }
}
