import Foundation
import GRDB
import StoreModels
import Strata
import Synchronization
import Testing

/// The processes of a soak run, and the code that starts, watches and ends them.
final class SoakRun: Sendable {
    private struct State {
        var faults: [String] = []
        /// By process.
        var children: [HelperProcess]
        var steps: [Int]
        var isResting: [Bool]
        var isDone: [Bool]
        /// Whether the process has stopped sending lines.
        var hasEnded: [Bool]
        var kills = 0
    }

    private let seed: Int
    private let steps: Int
    private let seconds: Double?
    private let state: Mutex<State>
    private static let count = 3
    /// The process that is killed and started again.
    private static let victim = 2

    /// - Parameters:
    ///   - steps: the largest number of steps of each worker of a process.
    ///   - seconds: the duration of the run; nil if the workers make all of their steps.
    init(seed: Int, steps: Int, seconds: Double?) {
        self.seed = seed
        self.steps = steps
        self.seconds = seconds
        let none = Array(repeating: false, count: Self.count)
        state = Mutex(State(children: [], steps: [0, 0, 0], isResting: none, isDone: none, hasEnded: none))
    }

    func run() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("soak.sqlite")
        let stack = try await ContextStack.open(
            .sqlite(url),
            models: Soak.models,
            stack: .rootOnly,
            configuration: Soak.configuration
        )
        let follower = StrictFollower(stack)
        let following = Task { await follower.follow() }
        try await stack.on(.root) { try Soak.found(in: $0) }

        for index in 0..<Self.count { try start(index, url, seed: seed + index) }
        let gauge = try await watch(stack, url)
        try await end(stack)
        try await check(stack, follower)
        let stories = try await stories(stack, follower)
        try await stack.close()
        await following.value
        try checkFile(url)
        let open = try folder.openFiles()
        #expect(open == [], "seed \(seed)")
        let (faults, kills, steps) = state.withLock { ($0.faults, $0.kills, $0.steps) }
        for fault in faults + follower.faults { Issue.record("seed \(seed): \(fault)") }
        if !stories.isEmpty { print(stories.joined(separator: "\n")) }
        print("soak, seed \(seed): \(follower.count) commits, steps \(steps), \(kills) kills")
        if seconds != nil { #expect(gauge.judge() == [], "seed \(seed)") }
    }

    // MARK: The processes

    private func start(_ index: Int, _ url: URL, seed: Int) throws {
        let child = try HelperProcess("soak", url.path, "\(seed)", "\(steps)")
        state.withLock { state in
            if state.children.count == index { state.children.append(child) } else { state.children[index] = child }
            state.hasEnded[index] = false
        }
        Task { [weak self] in
            for await line in child.lines { self?.take(line, from: index) }
            self?.state.withLock { state in
                if state.children[index] === child { state.hasEnded[index] = true }
            }
        }
    }

    private func take(_ line: String, from index: Int) {
        state.withLock { state in
            switch line {
            case "rest": state.isResting[index] = true
            case "done": state.isDone[index] = true
            case _ where line.hasPrefix("step "): state.steps[index] += 25
            default: state.faults.append("process \(index): \(line)")
            }
        }
    }

    /// Kills the last process and starts it again, with another seed.
    private func exchange(_ url: URL) async throws {
        let (child, kills) = state.withLock { state in
            state.kills += 1
            return (state.children[Self.victim], state.kills)
        }
        child.kill()
        await child.wait()
        try start(Self.victim, url, seed: seed + Self.count + kills)
    }

    /// Lets the processes work, kills one from time to time, and checks the rules of the store.
    private func watch(_ stack: ContextStack, _ url: URL) async throws -> SoakGauge {
        let gauge = SoakGauge()
        let committed = try stack.create(.private, reads: .committed)
        guard let seconds else {
            // Continues once each process has made a few steps.
            await wait { $0.steps.allSatisfy { $0 > 0 } || $0.hasEnded.contains(true) }
            try await exchange(url)
            return gauge
        }
        var random = SeededGenerator(seed: UInt64(seed))
        let start = ContinuousClock.now
        var (last, nextKill, lastSteps, lastStep) = (0, 5.0, 0, 0.0)
        while true {
            try await Task.sleep(for: .milliseconds(100))
            let passed = (ContinuousClock.now - start) / .seconds(1)
            // The last process that is started lives until the end.
            if passed > nextKill && passed < seconds - 5 {
                try await exchange(url)
                nextKill = passed + Double.random(in: 0.5...20, using: &random)
            }
            let steps = state.withLock { $0.steps.prefix(Self.victim).reduce(0, +) }
            if steps > lastSteps { (lastSteps, lastStep) = (steps, passed) }
            if passed - lastStep > 120 { note("nobody has made a step for two minutes") }
            if Int(passed) > last {
                last = Int(passed)
                let processes = state.withLock { [getpid()] + $0.children.map(\.id) }
                gauge.measure(processes, after: passed, steps: steps)
                for fault in try await committed.perform({ try Soak.audit($0) }) { note("after \(last) s: \(fault)") }
            }
            if passed > seconds || state.withLock({ !$0.faults.isEmpty || $0.hasEnded.contains(true) }) { return gauge }
        }
    }

    private func note(_ fault: String) { state.withLock { $0.faults.append(fault) } }

    /// Waits for a condition, for two minutes at most.
    private func wait(until isSo: (borrowing State) -> Bool) async {
        for _ in 0..<6000 {
            if state.withLock({ isSo($0) }) { return }
            try? await Task.sleep(for: .milliseconds(20))
        }
        note("it was waited for two minutes")
    }

    /// Lets all processes come to rest, make a last check, and end.
    private func end(_ stack: ContextStack) async throws {
        if seconds != nil { try await set(Soak.resting, stack) }
        await wait { $0.isResting.allSatisfy(\.self) || $0.hasEnded.contains(true) }
        try await set(Soak.ending, stack)
        await wait { $0.hasEnded.allSatisfy(\.self) }
        let children = state.withLock { state in
            defer { state.children = [] }
            return state.children
        }
        // A kill does not affect a process that has ended.
        for child in children { child.kill() }
        for child in children { await child.wait() }
        let isDone = state.withLock { $0.isDone }
        #expect(isDone == [true, true, true], "seed \(seed)")
    }

    private func set(_ stage: Int, _ stack: ContextStack) async throws {
        try await stack.background { context in
            try #require(try context.first(Soak.Stage.all)).number = stage
            try context.commit()
        }
    }

    // MARK: At the end

    private func check(_ stack: ContextStack, _ follower: StrictFollower) async throws {
        let (faults, ids) = try await stack.background { (try Soak.audit($0), try Soak.ids($0)) }
        #expect(faults == [], "seed \(seed)")
        // The token is that of the newest commit, because the block has looked at the store.
        let newest = stack.historyToken.commitNumber
        #expect(
            try await eventually { follower.sequence == newest },
            "seed \(seed): it has come to \(follower.sequence)"
        )
        #expect(follower.ids == ids, "seed \(seed)")

        // The stored history must give the same result, as far as it is kept.
        var (sequence, count): (Int64?, Int64) = (nil, 0)
        var page = try await stack.history()
        while let last = page.last {
            for commit in page {
                if let sequence { #expect(commit.token.commitNumber == sequence + 1, "seed \(seed)") }
                sequence = commit.token.commitNumber
                count += 1
            }
            page = try await stack.history(since: last.token)
        }
        #expect(sequence == newest && count > 0, "seed \(seed)")
    }

    /// The history of the objects that the faults name, as far as it is kept.
    private func stories(_ stack: ContextStack, _ follower: StrictFollower) async throws -> [String] {
        let texts = (state.withLock { $0.faults } + follower.faults).prefix(10)
        let numbers = Set(texts.flatMap { $0.split { !$0.isNumber } }.compactMap { Int64($0) })
        if texts.isEmpty { return [] }
        var stories: [String] = []
        var page = try await stack.history()
        while let last = page.last {
            for commit in page {
                func tell<Object: Model>(_ model: Object.Type) {
                    let changes = commit.of(model)
                    let head = "commit \(commit.token.commitNumber) by \(commit.author ?? "-")"
                    for id in changes.inserted where numbers.contains(id.rawValue) {
                        stories.append("\(head) inserted \(id)")
                    }
                    for id in changes.deleted where numbers.contains(id.rawValue) {
                        stories.append("\(head) deleted \(id)")
                    }
                    for id in changes.updated where numbers.contains(id.rawValue) {
                        stories.append("\(head) set \(changes.updatedColumns(of: id).sorted()) of \(id)")
                    }
                }
                for model in Soak.models { tell(model) }
            }
            page = try await stack.history(since: last.token)
        }
        return stories
    }

    private func checkFile(_ url: URL) throws {
        let queue = try DatabaseQueue(path: url.path, configuration: .waiting)
        try queue.read { db in
            let integrity = try String.fetchAll(db, sql: "PRAGMA integrity_check")
            #expect(integrity == ["ok"], "seed \(seed)")
            let lost = try Int.fetchOne(
                db,
                sql: """
                    SELECT (SELECT count(*) FROM strata_data WHERE id NOT IN (SELECT photo FROM Item WHERE photo IS NOT NULL))
                    + (SELECT count(*) FROM Item WHERE photo NOT IN (SELECT id FROM strata_data))
                    """
            )
            #expect(lost == 0, "seed \(seed)")
        }
        try queue.close()
    }
}

/// Follows all commits from the first one on. Each commit must arrive once, in order, and must be true of every object.
final class StrictFollower: Sendable {
    private struct State {
        var sequence: Int64
        var count = 0
        var ids: [String: Set<Int64>]
        var faults: [String] = []
    }

    private let state: Mutex<State>
    private let changes: ChangeSequence<ChangeSet>

    /// - Parameter stack: a stack of a store without objects.
    init(_ stack: ContextStack) {
        changes = stack.changes()
        let none = Soak.models.filter { $0 != Soak.Stage.self }.map { ("\($0)", Set<Int64>()) }
        state = Mutex(State(sequence: stack.historyToken.commitNumber, ids: Dictionary(uniqueKeysWithValues: none)))
    }

    var sequence: Int64 { state.withLock { $0.sequence } }
    var ids: [String: Set<Int64>] { state.withLock { $0.ids } }
    var count: Int { state.withLock { $0.count } }
    var faults: [String] { state.withLock { $0.faults } }

    func follow() async {
        do {
            for try await change in changes { take(change) }
        } catch {
            state.withLock { $0.faults.append("following changes: \(error)") }
        }
    }

    private func take(_ change: ChangeSet) {
        let sequence = change.token.commitNumber
        state.withLock { state in
            var faults = Soak.apply(change, to: &state.ids)
            if sequence != state.sequence + 1 { faults.append("it came after \(state.sequence)") }
            if state.faults.count < 20 {
                state.faults += faults.map { "commit \(sequence) by \(change.author ?? "-"): \($0)" }
            }
            state.sequence = sequence
            state.count += 1
        }
    }
}
