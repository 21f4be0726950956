import Foundation
import StoreModels
import TestHomeTraits
import Testing

/// Processes are killed while several of their contexts commit at the same time. Then each store must contain every
/// acknowledged commit, whole commits only, and no row of a commit that has failed. Its history must agree with its
/// rows.
///
/// `STRATA_KILLS` sets the number of kills in each test, and `STRATA_SEED` repeats a run:
///
///     STRATA_KILLS=10000 Scripts/test --filter KilledSharedCommitTests.steps
@Suite(
    "A killed process whose commits share transactions",
    .aboutTheFile("copies store files, and kills at the steps of SQLite")
) struct KilledSharedCommitTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let kills = environment["STRATA_KILLS"].flatMap { Int($0) }

    #if os(Linux)
        /// A step at which a process is killed: the n-th of its kind, as `CKillSwitch` counts them.
        private struct Step: CustomStringConvertible {
            let kind: String
            let number: Int

            var description: String { "\(kind) \(number)" }
        }

        /// The results of kills.
        private struct Tally {
            var faults: [String] = []
            /// The number of processes that have ended before their step.
            var survivors = 0

            static func + (left: Tally, right: Tally) -> Tally {
                Tally(faults: left.faults + right.faults, survivors: left.survivors + right.survivors)
            }
        }

        // MARK: Steps

        /// The kinds of steps that each run has.
        private static let kinds: Set = [
            "BEGIN IMMEDIATE", "SAVEPOINT", "ROLLBACK TO", "ROLLBACK", "RELEASE", "COMMIT",
            "INSERT INTO \"strata_history\"", "INSERT", "UPDATE", "SELECT", "write", "sync", "after sync", "unlock",
            "after COMMIT", "acknowledgement",
        ]

        /// By default, processes are killed at 100 steps, or at 200 if `CI` is set. At least one step of each kind is
        /// among them, and the others are spread evenly. After a pass over all steps, the next pass has the next seed,
        /// which changes the order of the commits.
        @Test("A kill at any step of a shared transaction leaves whole commits only", .timeLimit(.minutes(240)))
        func steps() async throws {
            let stores = try await SharedWorkStores()
            var seed = SeededGenerator.seed
            var left = Self.kills ?? (Self.environment["CI"] == nil ? 100 : 200)
            while left > 0 {
                var dice = SeededGenerator(seed: seed)
                let all = try await allSteps(seed, stores)
                try #require(!all.isEmpty)
                let chosen = Self.choose(left, of: all, &dice)
                let tally = try await killProcesses(at: chosen, seed, stores)
                #expect(tally.faults == [], "STRATA_SEED=\(seed)")
                // A slow process writes more transactions with fewer commits, and so it has fewer steps of some kinds.
                #expect(tally.survivors <= chosen.count / 5, "STRATA_SEED=\(seed)")
                guard tally.faults.isEmpty else { return }
                left -= chosen.count
                seed &+= 1
            }
        }

        /// Runs a process that is not killed. Returns its steps, by their kinds.
        private func allSteps(_ seed: UInt64, _ stores: SharedWorkStores) async throws -> [Step] {
            let store = try stores.copy()
            defer { stores.remove(store) }
            let lines = try await Self.process(store, seed).end()
            let last = try #require(lines.last, "no output")
            try #require(last.hasPrefix("done "), "\(lines)")
            let steps = last.dropFirst("done ".count).split(separator: ",").flatMap { entry -> [Step] in
                let parts = entry.split(separator: "=")
                return (0..<(Int(parts[1]) ?? 0)).map { Step(kind: String(parts[0]), number: $0 + 1) }
            }
            // Each transaction is flushed before its COMMIT returns, and so before its commits are acknowledged.
            try #require(steps.allSatisfy { $0.kind != "unsynced" }, "\(last), STRATA_SEED=\(seed)")
            // Under a sanitizer, each transaction may close after its first commit, because it has taken too long.
            let missing = Self.kinds.subtracting(steps.map(\.kind))
            let isSlow = Self.environment["STRATA_SANITIZER"] != nil
            #expect(missing.isEmpty || isSlow, "no \(missing), STRATA_SEED=\(seed)")
            var work = AcknowledgedWork()
            for line in lines { work.take(line) }
            let faults = work.faults(in: try await stores.audit(store), unacknowledged: 0)
            #expect(faults == [] && work.commits == 2 * SharedWork.workerCount, "STRATA_SEED=\(seed)")
            return steps
        }

        /// Chooses steps: one of each kind, and others at equal distances. Returns them in random order.
        private static func choose(_ count: Int, of steps: [Step], _ dice: inout SeededGenerator) -> [Step] {
            guard count < steps.count else { return steps }
            var chosen: [Step] = []
            var others: [Step] = []
            for kind in Set(steps.map(\.kind)).sorted() {
                let same = steps.filter { $0.kind == kind }
                let index = dice.number(0..<same.count)
                chosen.append(same[index])
                others += same[..<index] + same[(index + 1)...]
            }
            let rest = max(0, count - chosen.count)
            let start = dice.number(0..<others.count)
            for index in 0..<rest { chosen.append(others[(index * others.count + start) / rest]) }
            return Array(chosen.shuffled(using: &dice).prefix(count))
        }

        /// Kills a process at each of these steps, four processes at a time.
        private func killProcesses(at steps: [Step], _ seed: UInt64, _ stores: SharedWorkStores) async throws -> Tally {
            let laneCount = 4
            return try await withThrowingTaskGroup(of: Tally.self) { group in
                for lane in 0..<laneCount {
                    group.addTask {
                        var tally = Tally()
                        for index in stride(from: lane, to: steps.count, by: laneCount) where tally.faults.isEmpty {
                            let next = try await Self.killProcess(at: steps[index], seed, stores)
                            tally = tally + next
                        }
                        return tally
                    }
                }
                return try await group.reduce(Tally()) { $0 + $1 }
            }
        }

        private static func killProcess(
            at step: Step,
            _ seed: UInt64,
            _ stores: SharedWorkStores
        ) async throws -> Tally {
            let store = try stores.copy()
            defer { stores.remove(store) }
            let child = try process(store, seed, killedAt: step)
            let lines = await child.end()
            var work = AcknowledgedWork()
            for line in lines { work.take(line) }
            // A worker begins its next commit after the acknowledgement of the last one.
            var faults = work.faults(in: try await stores.audit(store), unacknowledged: 1)
            let isAlive = lines.last?.hasPrefix("done") == true
            if !isAlive, child.endingSignal != SIGKILL { faults.append("the process has not ended by SIGKILL") }
            return Tally(faults: faults.map { "killed at \(step): \($0)" }, survivors: isAlive ? 1 : 0)
        }

        private static func process(_ store: URL, _ seed: UInt64, killedAt step: Step? = nil) throws -> HelperProcess {
            // The seed is passed as a signed number.
            let seed = "\(Int64(bitPattern: seed))"
            guard let step else { return try HelperProcess("groups", store.path, seed) }
            return try HelperProcess("groups", store.path, seed, "\(step.number)", step.kind)
        }
    #endif

    // MARK: Moments

    @Test("A kill at any moment of concurrent commits leaves whole commits only", .timeLimit(.minutes(240)))
    func moments() async throws {
        let seed = SeededGenerator.seed
        var dice = SeededGenerator(seed: seed)
        let stores = try await SharedWorkStores()
        let rounds = Self.kills ?? 60
        var (commits, transactions) = (0, 0)
        for round in 0..<rounds {
            let store = try stores.copy()
            defer { stores.remove(store) }
            let child = try HelperProcess("share", store.path)
            var work = AcknowledgedWork()
            let lives = dice.number(0..<40)
            for _ in 0..<lives { work.take(try await child.next()) }
            let pause = lives == 0 ? dice.number(0..<40_000) : dice.number(0..<4000)
            try await Task.sleep(for: .microseconds(pause))
            child.kill()
            for line in await child.end() { work.take(line) }
            #expect(child.endingSignal == SIGKILL, "STRATA_SEED=\(seed), round \(round)")
            let faults = work.faults(in: try await stores.audit(store), unacknowledged: 1)
            #expect(faults == [], "STRATA_SEED=\(seed), round \(round)")
            guard faults.isEmpty else { return }
            commits += work.commits
            transactions += work.transactions
        }
        #expect(commits > rounds, "too few commits to say anything, STRATA_SEED=\(seed)")
        #expect(transactions < commits, "no commits shared a transaction, STRATA_SEED=\(seed)")
    }
}
