import Foundation
import StoreModels
import Strata
import Testing

/// `STRATA_PINNED_RUNS` sets the number of random runs, 3 by default, and `STRATA_SEED` the seed of the first one.
/// `STRATA_PINNED_STEPS` runs as many steps while other contexts work at the same time. `Documentation/Known-gaps.md`
/// lists the open questions.
@Suite("Edits of pinned contexts while others commit") struct PinnedEditTests {
    private static let environment = ProcessInfo.processInfo.environment

    @Test("Others never change the values shown, and undo, redo and a throwing savepoint restore them, in random runs")
    func random() async throws {
        let runs = Self.environment["STRATA_PINNED_RUNS"].flatMap { UInt64($0) } ?? 3
        let first = Self.environment["STRATA_SEED"].flatMap { UInt64($0) } ?? 1
        for seed in first..<(first + runs) {
            for fault in try await PinnedHistory(seed).run() { Issue.record("STRATA_SEED=\(seed): \(fault)") }
        }
    }

    @Test("A savepoint that throws drops the saves that a pinned context has made in it")
    func savedInSavepoint() async throws {
        struct TakenBack: Error {}
        let stack = try await openStack()
        let pinned = try stack.create(.private, named: "pinned", merging: .pinned)
        try await pinned.perform { context in
            let before = try context.count(Author.all)
            #expect(before == 0)
            #expect(throws: TakenBack.self) {
                try context.savepoint {
                    context.insert(Author(name: "taken back"))
                    try context.save()
                    throw TakenBack()
                }
            }
            let names = try context.column(Author.all, \.name)
            #expect(names == [])
        }
        let count = try await stack.on(.main) { try $0.count(Author.all) }
        #expect(count == 0)
        try await stack.close()
    }

    @Test("An edit of an object that a sibling saved and committed is based on changes by other processes too")
    func committedSinceSeen() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("pinned.sqlite")
        let stack = try await ContextStack.open(.sqlite(url), models: allModels)
        let others = try await ContextStack.open(.sqlite(url), models: allModels, stack: .rootOnly)
        let sibling = try stack.create(.private, named: "sibling")
        let pinned = try stack.create(.private, named: "pinned", merging: .pinned)
        let id = try await sibling.perform { context in
            let author = context.insert(Author(name: "first"))
            try context.save()
            return author.id
        }
        #expect(try await pinned.perform { try $0.find(id)?.name } == "first")
        try await sibling.perform { context in
            // The author is now in main, and is committed together with the article that refers to it.
            context.insert(Article(slug: "two", title: "Two", author: try context.find(id)))
            try context.commit()
        }
        try await stack.on(.main) { try $0.commit() }
        try await pinned.perform { context in
            let author = try #require(try context.find(id))
            #expect(author.fee == nil)
            author.articles.insert(Article(slug: "one", title: "One"))
            author.fee = 2
        }
        try await others.on(.root) { context in
            try #require(try context.find(id)).name = "second"
            try context.commit()
        }
        try await pinned.perform { context in
            #expect(try context.find(id)?.name == "first")
            try context.merge()
            #expect(try context.find(id)?.name == "second")
            #expect(try context.find(id)?.articles.count == 2)
            try context.commit()
        }
        let committed = try await others.on(.root) { try $0.find(id).map { ($0.name, $0.fee) } }
        #expect(committed?.0 == "second" && committed?.1 == 2)
        try await others.close()
        try await stack.close()
    }

    @Test("An edit of an object whose parent has rolled back since is based on the store")
    func rolledBackSinceSeen() async throws {
        let stack = try await openStack(.rootOnly)
        let id = try await stack.on(.root) { context in
            let author = context.insert(Author(name: "stored"))
            try context.commit()
            author.name = "of the parent"
            return author.id
        }
        let pinned = try stack.create(.private, named: "pinned", merging: .pinned)
        #expect(try await pinned.perform { try $0.find(id)?.name } == "of the parent")
        try await stack.on(.root) { $0.rollback() }
        try await pinned.perform { context in
            let author = try #require(try context.find(id))
            author.fee = 2
            try context.merge()
            #expect(author.name == "stored" && author.fee == 2)
        }
        try await stack.close()
    }

    @Test("An object brought back over a parent's delete stays when the parent rolls back the delete")
    func broughtBackSinceSeen() async throws {
        let stack = try await openStack(.rootOnly)
        let id = try await stack.on(.root) { context in
            let author = context.insert(Author(name: "stored"))
            try context.commit()
            return author.id
        }
        let pinned = try stack.create(.private, named: "pinned", merging: .pinned)
        try await pinned.perform { context in
            context.undoLevels = 1
            context.delete(try #require(try context.find(id)))
        }
        try await stack.on(.root) { context in context.delete(try #require(try context.find(id))) }
        try await pinned.perform { context in
            try context.merge()
            try context.undo()
            #expect(try context.find(id)?.name == "stored")
        }
        try await stack.on(.root) { context in
            context.rollback()
            try #require(try context.find(id)).name = "of the parent"
        }
        try await pinned.perform { context in
            let author = try #require(try context.find(id))
            #expect(author.name == "stored")
            let names = try context.column(Author.all, \.name)
            #expect(names == ["stored"])
            author.fee = 2
            try context.merge()
            #expect(author.name == "of the parent" && author.fee == 2)
        }
        try await stack.close()
    }

    /// A root with one author, whose delete by root a pinned context has overruled by an undo.
    private static func openBroughtBack() async throws -> (
        stack: ContextStack, pinned: ContextHandle, id: ObjectID<Author>
    ) {
        let stack = try await openStack(.rootOnly)
        let id = try await stack.on(.root) { context in
            let author = context.insert(Author(name: "stored"))
            try context.commit()
            return author.id
        }
        let pinned = try stack.create(.private, named: "pinned", merging: .pinned)
        try await pinned.perform { context in
            context.undoLevels = 2
            context.delete(try #require(try context.find(id)))
        }
        try await stack.on(.root) { context in context.delete(try #require(try context.find(id))) }
        try await pinned.perform { context in
            try context.merge()
            try context.undo()
            let names = try context.column(Author.all, \.name)
            #expect(names == ["stored"])
        }
        return (stack, pinned, id)
    }

    @Test(
        "An undo shows an object that was brought back and then deleted, after the parent's rollback",
        arguments: [false, true]
    )
    func deletedAfterBroughtBack(rollsBackFirst: Bool) async throws {
        let (stack, pinned, id) = try await Self.openBroughtBack()
        if rollsBackFirst { try await stack.on(.root) { $0.rollback() } }
        try await pinned.perform { context in context.delete(try #require(try context.find(id))) }
        if !rollsBackFirst { try await stack.on(.root) { $0.rollback() } }
        try await pinned.perform { context in
            let hidden = try context.column(Author.all, \.name)
            #expect(hidden == [])
            try context.undo()
            #expect(try context.find(id)?.name == "stored")
            let shown = try context.column(Author.all, \.name)
            #expect(shown == ["stored"])
            try context.redo()
            let redone = try context.column(Author.all, \.name)
            #expect(redone == [])
            try context.undo()
            try context.merge()
            let merged = try context.column(Author.all, \.name)
            #expect(merged == ["stored"])
        }
        try await stack.close()
    }

    @Test("A throwing savepoint takes back the delete of an object that was brought back, after the parent's rollback")
    func deletedInSavepoint() async throws {
        struct TakenBack: Error {}
        let (stack, pinned, id) = try await Self.openBroughtBack()
        try await stack.on(.root) { $0.rollback() }
        try await pinned.perform { context in
            #expect(throws: TakenBack.self) {
                try context.savepoint {
                    context.delete(try #require(try context.find(id)))
                    let hidden = try context.column(Author.all, \.name)
                    #expect(hidden == [])
                    throw TakenBack()
                }
            }
            let shown = try context.column(Author.all, \.name)
            #expect(shown == ["stored"])
            try context.merge()
            let merged = try context.column(Author.all, \.name)
            #expect(merged == ["stored"])
        }
        try await stack.close()
    }

    @Test("A throwing savepoint restores an object that was brought back, before and after the parent's rollback")
    func broughtBackInSavepoint() async throws {
        struct TakenBack: Error {}
        func shown(_ context: ObjectContext) throws -> [String] {
            try context.rows(Author.all).map { "\($0.name) \($0.fee ?? 0)" }
        }
        func setFeeAndTakeItBack(_ id: ObjectID<Author>, _ context: ObjectContext) {
            #expect(throws: TakenBack.self) {
                try context.savepoint {
                    try #require(try context.find(id)).fee = 2
                    throw TakenBack()
                }
            }
        }
        let stack = try await openStack(.rootOnly)
        let ids = try await stack.on(.root) { context in
            let authors = ["first", "second"].map { context.insert(Author(name: $0)) }
            try context.commit()
            return authors.map(\.id)
        }
        let pinned = try stack.create(.private, named: "pinned", merging: .pinned)
        try await pinned.perform { context in
            context.undoLevels = 3
            try #require(try context.find(ids[1])).fee = 1
            try context.undoGroup { context.delete(try #require(try context.find(ids[0]))) }
        }
        try await stack.on(.root) { context in for author in try context.fetch(Author.all) { context.delete(author) } }
        try await pinned.perform { context in
            try context.merge()
            try context.undo()
            try #require(try context.find(ids[0])).name = "renamed"
            setFeeAndTakeItBack(ids[0], context)
            #expect(try shown(context) == ["renamed 0.0"])
        }
        try await stack.on(.root) { $0.rollback() }
        try await pinned.perform { context in
            #expect(try shown(context) == ["renamed 0.0"])
            setFeeAndTakeItBack(ids[0], context)
            #expect(try shown(context) == ["renamed 0.0"])
            try context.merge()
            #expect(try shown(context) == ["renamed 0.0", "second 1.0"])
        }
        try await stack.close()
    }
}

extension PinnedEditTests {
    @Test(
        "Objects show what queries find, pinned or merging, in random runs while others work at the same time",
        .enabled(if: environment["STRATA_PINNED_STEPS"] != nil),
        arguments: [ContextMerging.atNextBlock, .pinned]
    )
    func concurrent(_ merging: ContextMerging) async throws {
        let steps = try #require(Self.environment["STRATA_PINNED_STEPS"].flatMap { Int($0) })
        let history = try await PinnedHistory(SeededGenerator.seed, merging)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in history.others.indices {
                group.addTask {
                    var dice = Dice(seed: history.seed &+ UInt64(index))
                    while !Task.isCancelled { try await history.workElsewhere(&dice, in: index) }
                }
            }
            var (dice, shown): (Dice, [String]?) = (Dice(seed: history.seed &- 1), nil)
            for step in 0..<steps {
                let faults = try await history.workPinned(&dice, &shown)
                for fault in faults { Issue.record("seed \(history.seed) step \(step): \(fault)") }
                if !faults.isEmpty { break }
            }
            group.cancelAll()
        }
        try await history.close()
    }
}

/// Random steps of a pinned context, of its sibling, of main and of two roots. One of the roots belongs to another
/// stack on the same file.
private final class PinnedHistory: Sendable {
    let seed: UInt64
    private let folder: ScratchFolder
    private let stack: ContextStack
    private let otherStack: ContextStack
    private let pinned: ContextHandle
    private let isPinned: Bool
    let others: [ContextHandle]

    init(_ seed: UInt64, _ merging: ContextMerging = .pinned) async throws {
        self.seed = seed
        isPinned = merging == .pinned
        folder = try ScratchFolder()
        let url = folder.file("pinned.sqlite")
        let configuration = StoreConfiguration(synchronous: .normal, busyTimeout: 30)
        stack = try await ContextStack.open(.sqlite(url), models: Soak.models, configuration: configuration)
        otherStack = try await ContextStack.open(
            .sqlite(url),
            models: Soak.models,
            stack: .rootOnly,
            configuration: configuration
        )
        try await stack.on(.root) { try Soak.found(in: $0) }
        let pinned = try stack.create(.private, named: "pinned", merging: merging)
        self.pinned = pinned
        let sibling = try stack.create(.private, named: "sibling")
        var others = [try otherStack[.root], try stack[.root], sibling, try stack[.main]]
        if !isPinned {
            let stack = self.stack
            others.append(try await stack.on(pinned) { _ in try stack.create(.private, named: "deep") })
        }
        self.others = others
        try await pinned.perform { $0.undoLevels = 20 }
    }

    /// Runs the steps one after the other. Returns the faults of the first step that has any.
    func run() async throws -> [String] {
        var (dice, shown): (Dice, [String]?) = (Dice(seed: seed), nil)
        for step in 0..<120 {
            if dice.chance(40) {
                try await workElsewhere(&dice, in: dice.number(0..<others.count))
                continue
            }
            let faults = try await workPinned(&dice, &shown)
            if !faults.isEmpty { return faults.map { "step \(step): \($0)" } }
        }
        try await close()
        return []
    }

    func close() async throws {
        try await otherStack.close()
        try await stack.close()
    }

    func workElsewhere(_ dice: inout Dice, in context: Int) async throws {
        let stepDice = Dice(seed: dice.next())
        if !isPinned && dice.chance(20) { return try await saveChain() }
        let isBatch = !isPinned && dice.chance(10)
        try await others[context].perform { context in
            var dice = stepDice
            if isBatch {
                do {
                    return try context.batchAnything(&dice)
                } catch let error as StrataError where Soak.expected.contains(error.code) {
                    return
                }
            }
            for _ in 0..<dice.number(1..<8) { try context.editAnything(&dice) }
            try context.saveOrCommit(&dice)
        }
    }

    /// Saves the context and its parents as one commit.
    private func saveChain() async throws {
        do {
            try await stack.push(pinned) { [stack] _ in try await stack.save() }
        } catch let error as StrataError where Soak.expected.contains(error.code) {}
    }

    /// - Parameter shown: the state that the context showed at the end of the previous step.
    func workPinned(_ dice: inout Dice, _ shown: inout [String]?) async throws -> [String] {
        let (before, stepDice) = (shown, Dice(seed: dice.next()))
        let (now, faults) = try await pinned.perform { [isPinned] context in
            var dice = stepDice
            var faults: [String] = []
            let now = try Soak.digest(context)
            if isPinned, let before, now != before {
                faults.append("others changed \(Soak.difference(now, from: before))")
            }
            let kind = dice.number(0..<12)
            switch kind {
            case 0..<3: for _ in 0..<dice.number(1..<5) { try context.editAnything(&dice) }
            case 3: try context.saveOrCommit(&dice)
            case 4: try context.merge()
            case 5 where !isPinned: for _ in 0..<3 { _ = dice.chance(60) ? try context.undo() : try context.redo() }
            case 5, 6: if isPinned { faults += try context.editAndUndo(&dice) }
            default: faults += try context.tryInSavepoint(isPinned: isPinned, &dice)
            }
            faults += try Soak.inspect(context).map { "\($0), in a step of kind \(kind)" }
            return (try Soak.digest(context), faults)
        }
        shown = now
        return faults
    }
}
