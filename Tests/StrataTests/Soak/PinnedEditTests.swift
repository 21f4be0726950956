import Foundation
import StoreModels
import Strata
import Testing

/// `STRATA_PINNED_RUNS` makes more random runs, `STRATA_SEED` names the first one.
@Suite("C19 C20 edits of pinned contexts, while others commit") struct PinnedEditTests {
    private static let environment = ProcessInfo.processInfo.environment

    @Test(
        "random: others change nothing that it shows, and undo, redo and a savepoint that throws leave what there was"
    )
    func random() async throws {
        let runs = Self.environment["STRATA_PINNED_RUNS"].flatMap { UInt64($0) } ?? 6
        let first = Self.environment["STRATA_SEED"].flatMap { UInt64($0) } ?? 1
        for seed in first..<(first + runs) {
            for fault in try await PinnedHistory().run(seed) { Issue.record("STRATA_SEED=\(seed): \(fault)") }
        }
    }

    @Test("a savepoint that throws takes back what was saved in it, and the context has moved on as by any save")
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

    @Test("an edit of what a sibling had saved and then committed stands on what other processes have made of it")
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
            // The author is main's by now, and comes into the store with what refers to it.
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

    @Test("an edit of what the parent has rolled back since stands on what is in the store")
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
}

/// Random steps of a pinned context, of its sibling and of two roots, one of which is that of another stack on the same file.
private struct PinnedHistory {
    let folder: ScratchFolder

    init() throws { folder = try ScratchFolder() }

    func run(_ seed: UInt64) async throws -> [String] {
        var dice = Dice(seed: seed)
        let url = folder.file("pinned.sqlite")
        let configuration = StoreConfiguration(synchronous: .normal)
        let stack = try await ContextStack.open(.sqlite(url), models: Soak.models, configuration: configuration)
        let others = try await ContextStack.open(
            .sqlite(url),
            models: Soak.models,
            stack: .rootOnly,
            configuration: configuration
        )
        try await stack.on(.root) { try Soak.found(in: $0) }
        let pinned = try stack.create(.private, named: "pinned", merging: .pinned)
        let contexts = [try others[.root], try stack[.root], try stack.create(.private, named: "sibling")]
        try await pinned.perform { $0.undoLevels = 20 }
        var shown: [String]?
        for step in 0..<120 {
            let (kind, stepDice) = (dice.number(0..<100), Dice(seed: dice.next()))
            if kind < 40 {
                try await contexts[kind % 3].perform { context in
                    var dice = stepDice
                    for _ in 0..<dice.number(1..<8) { try context.editAnything(&dice) }
                    try context.saveOrCommit(&dice)
                }
                continue
            }
            let before = shown
            let (now, faults) = try await pinned.perform { context in
                var dice = stepDice
                var faults: [String] = []
                let now = try Soak.digest(context)
                if let before, now != before { faults.append("others changed \(Soak.difference(now, from: before))") }
                switch kind {
                case ..<55: for _ in 0..<dice.number(1..<5) { try context.editAnything(&dice) }
                case ..<60: try context.saveOrCommit(&dice)
                case ..<65: try context.merge()
                case ..<75: faults += try context.editAndUndo(&dice)
                default: faults += try context.tryInSavepoint(isPinned: true, &dice)
                }
                return (try Soak.digest(context), faults)
            }
            if !faults.isEmpty { return faults.map { "step \(step): \($0)" } }
            shown = now
        }
        try await others.close()
        try await stack.close()
        return []
    }
}
