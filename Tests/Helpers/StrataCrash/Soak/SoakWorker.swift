import Foundation
import StoreModels
import Strata

/// Makes one random step after the other. The seed determines each step. Its outcome also depends on the other workers.
struct SoakWorker: Sendable {
    let process: SoakProcess
    let number: Int
    var step = 0

    var stack: ContextStack { process.stack }

    func run() async throws {
        for step in 0..<process.steps {
            if process.isOver { return }
            try await keepQuiet()
            process.begin(step, of: number)
            var worker = self
            worker.step = step
            let seed = process.seed &* 1_000_003 &+ UInt64(number) &* 500_000_003 &+ UInt64(step)
            do {
                for fault in try await worker.perform(Dice(seed: seed)) {
                    process.faults.add("\(worker.author): \(fault)")
                }
            } catch {
                process.faults.add("\(worker.author): \(error)")
            }
            if number == 0 && step % 25 == 24 { acknowledge("step \(step + 1)") }
        }
    }

    /// Every 20 seconds, all processes pause for two seconds, and pinned contexts move on to the newest state, so that
    /// the write-ahead log can start again from its beginning. Otherwise one of the processes would always read an old
    /// state, and the log would grow for the whole hour.
    private func keepQuiet() async throws {
        while Int(Date().timeIntervalSince1970) % 20 < 2 {
            if number == 0 {
                for name in [ContextName.pinned, .draft] {
                    try await stack.on(name) { context in
                        context.state[Digest.self] = nil
                        try context.merge()
                    }
                }
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// The author of this step's commits in the history.
    var author: String { "seed \(process.seed) worker \(number) step \(step)" }

    /// Performs a random step, and returns the errors that it has found.
    private func perform(_ dice: Dice) async throws -> [String] {
        var dice = dice
        switch dice.number(0..<100) {
        case ..<15: try await pay(dice)
        case ..<45: return try await edit(dice)
        case ..<55: try await finish(dice)
        case ..<59: try await saveChain(dice)
        case ..<63: return try await undo(dice)
        case ..<73: try await batch(dice)
        case ..<85: return try await ask(dice)
        case ..<90: return try await lookPinned(dice)
        case ..<94: return try await audit(dice)
        default: try await work(dice)
        }
        return []
    }

    /// One of the contexts that workers edit.
    static func context(_ dice: inout Dice) -> ContextName { dice.pick([.root, .main, .desk, .deep, .draft, .draft])! }

    // MARK: Money

    /// Pays from one account to another, or settles old payments. Repeats the transaction if other processes were
    /// faster.
    private func pay(_ dice: Dice) async throws {
        for attempt in 0..<1000 {
            do {
                return try await stack.background(parent: .named(.root)) { context in
                    var dice = dice
                    (context.mergePolicy, context.author) = (.error, author)
                    let accounts = try context.fetch(Soak.Account.sorted { $0.name.ascending })
                    let payments = try context.count(Soak.Payment.all)
                    if payments > 100 || dice.chance(20) {
                        try Self.settle(dice.pick(accounts)!, in: context)
                    } else {
                        let amount = dice.number(1..<50)
                        for (account, sign) in zip(accounts.shuffled(using: &dice), [-1, 1]) {
                            account.balance += sign * amount
                            account.stamp = UUID()
                            account.payments.insert(Soak.Payment(amount: sign * amount))
                        }
                    }
                    try context.commit()
                }
            } catch let error as StrataError where error.code == .conflict || error.code == .busy {
                if attempt == 999 { throw error }
            }
        }
    }

    private static func settle(_ account: Soak.Account, in context: ObjectContext) throws {
        account.stamp = UUID()
        for payment in try account.payments.limit(30).fetch() {
            account.settled += payment.amount
            context.delete(payment)
        }
    }

    // MARK: Objects

    private func edit(_ dice: Dice) async throws -> [String] {
        var dice = dice
        let name = Self.context(&dice)
        let token = stack.historyToken
        let isInSavepoint = dice.chance(30)
        let faults = try await stack.on(name) { [dice] context -> [String] in
            var dice = dice
            context.author = author
            guard isInSavepoint else {
                for _ in 0..<dice.number(1..<6) { try context.editAnything(&dice) }
                return dice.chance(10) ? try Soak.inspect(context) : []
            }
            return try context.tryInSavepoint(isPinned: name == .draft, &dice)
        }
        // Commits by other processes at the same moment may still be visible in the draft context:
        // see Documentation/Known-gaps.md.
        guard isInSavepoint, name == .draft, !faults.isEmpty else { return faults }
        return try await stack.history(since: token).isEmpty ? faults : []
    }

    /// Saves, commits or rolls back.
    private func finish(_ dice: Dice) async throws {
        var dice = dice
        try await stack.on(Self.context(&dice)) { [dice] context in
            var dice = dice
            context.author = author
            switch dice.number(0..<10) {
            case 0: context.rollback(includingSaved: dice.chance(50))
            case 1: context.rollback(try context.fetch(Item.all).shuffled(using: &dice).prefix(3).map { $0 })
            default: try context.saveOrCommit(&dice)
            }
        }
    }

    /// Saves a context and its parents as one commit.
    private func saveChain(_ dice: Dice) async throws {
        var dice = dice
        let policy = dice.pick(Soak.policies)!
        for name in [ContextName.root, .main, .desk] {
            try await stack.on(name) { ($0.mergePolicy, $0.author) = (policy, author) }
        }
        do {
            try await stack.push(try stack[.desk]) { _ in try await stack.save() }
        } catch let error as StrataError where Soak.expected.contains(error.code) {
            let name = dice.pick([ContextName.main, .desk])!
            if dice.chance(50) { try await stack.on(name) { $0.rollback(includingSaved: true) } }
        }
    }

    private func undo(_ dice: Dice) async throws -> [String] {
        var dice = dice
        let name = dice.pick([ContextName.desk, .draft])!
        return try await stack.on(name) { [dice] context in
            var dice = dice
            if name == .draft && dice.chance(50) { return try context.editAndUndo(&dice) }
            for _ in 0..<dice.number(1..<5) { _ = dice.chance(60) ? try context.undo() : try context.redo() }
            return try Soak.inspect(context)
        }
    }

    /// Works in a new child of one of the contexts. The draft context is excluded, because no other context may change
    /// its contents.
    private func work(_ dice: Dice) async throws {
        var dice = dice
        let parent = dice.pick([ContextName.root, .main, .desk, .deep])!
        try await stack.background(parent: .named(parent)) { [dice] context in
            var dice = dice
            context.author = author
            for _ in 0..<dice.number(1..<8) { try context.editAnything(&dice) }
            try context.saveOrCommit(&dice)
        }
    }

    // MARK: Checking

    private func ask(_ dice: Dice) async throws -> [String] {
        var dice = dice
        if dice.chance(10) {
            var count = 0
            for try await row in try stack.rows(Item.all) { count += row.value < 0 ? 1000 : 1 }
            if count > 1000 { return ["values below zero"] }
        }
        return try await stack.on(Self.context(&dice)) { [dice] context in
            var dice = dice
            return try context.askAnything(&dice)
        }
    }

    /// Expects that a pinned context shows the same until it merges.
    private func lookPinned(_ dice: Dice) async throws -> [String] {
        try await stack.on(.pinned) { context in
            var dice = dice
            let now = try Soak.digest(context)
            let before = context.state[Digest.self] ?? now
            context.state[Digest.self] = now
            if dice.chance(40) {
                try context.merge()
                context.state[Digest.self] = nil
            }
            return before == now ? [] : ["the pinned context shows \(Soak.difference(now, from: before))"]
        }
    }

    private func audit(_ dice: Dice) async throws -> [String] {
        try await stack.on(.committed) { try Soak.audit($0) }
    }
}

private enum Digest: ContextStateKey { typealias Value = [String] }
