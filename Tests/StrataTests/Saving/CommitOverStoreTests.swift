import Foundation
import StoreModels
import Synchronization
import Testing

@testable import Strata

@Suite("Committing a block over the current store", .timeLimit(.minutes(2)))
struct CommitOverStoreTests {
    private static let models: [any Model.Type] = [
        Author.self, Article.self, Citation.self, Writer.self, Spouse.self, Sheet.self, Binder.self,
    ]

    private static func filled(_ location: StoreLocation = .inMemory) async throws -> ContextStack {
        let stack = try await ContextStack.open(location, models: models, stack: .rootOnly)
        try await stack.background { context in
            let author = context.insert(Author(name: "Ada"))
            let article = context.insert(Article(slug: "a", title: "A", author: author))
            context.insert(Citation(journal: "J", article: article))
            let writer = context.insert(Writer(name: "W"))
            writer.spouses.insert(context.insert(Spouse(name: "S")))
            context.insert(Sheet(title: "red", body: "stone"))
            try context.commit()
        }
        return stack
    }

    /// Lets another context change something after the first run of a block has read.
    ///
    /// - Returns: how often the block ran.
    private static func runs(
        _ stack: ContextStack,
        elsewhere: ContextStack? = nil,
        reading: @escaping @Sendable (ObjectContext) throws -> Void,
        changing: @escaping @Sendable (SavingContext) throws -> Void
    ) async throws -> Int {
        let runs = Mutex(0)
        try await stack.commitOverStore(on: BlockQueue(label: "test"), author: "test") { context in
            try reading(context)
            if runs.withLock({
                $0 += 1; return $0
            }) == 1 {
                try (elsewhere ?? stack).meanwhile(changing)
            }
            context.insert(Author(name: "new"))
        } alongside: { _ in
        }
        #expect(try await stack.background { try $0.count(Author.where { $0.name == "new" }) } == 1)
        return runs.withLock { $0 }
    }

    private struct Case: CustomTestStringConvertible {
        let testDescription: String
        let read: @Sendable (ObjectContext) throws -> Void
        let change: @Sendable (SavingContext) throws -> Void

        init(
            _ name: String,
            _ read: @escaping @Sendable (ObjectContext) throws -> Void,
            _ change: @escaping @Sendable (SavingContext) throws -> Void = Self.editArticle
        ) {
            (testDescription, self.read, self.change) = (name, read, change)
        }

        static let editArticle: @Sendable (ObjectContext) throws -> Void = { try $0.first(Article.all)?.views += 1 }
    }

    private static let reads: [Case] = [
        Case("fetch") { _ = try $0.fetch(Article.all) },
        Case("count") { _ = try $0.count(Article.all) },
        Case("exists") { _ = try $0.exists(Article.where { $0.slug == "nowhere" }) },
        Case("an insert that it might have found", { _ = try $0.exists(Article.where { $0.slug == "b" }) }) {
            $0.insert(Article(slug: "b", title: "B"))
        },
        Case("a delete", { _ = try $0.count(Citation.all) }) { context in
            try context.fetch(Citation.all).forEach(context.delete)
        },
        Case("a batch", { _ = try $0.fetch(Article.all) }) { context in
            try context.batchUpdate(Article.all) { $0.views.set(to: 7) }
        },
        Case("rows") { _ = try $0.rows(Article.all) },
        Case("ids") { _ = try $0.ids(Article.all) },
        Case("sum") { _ = try $0.sum(Article.all, \.views) },
        Case("cursor") { context in try context.forEachRow(Article.all) { _ in } },
        Case("SQL") { _ = try $0.values(Int.self, "SELECT max(views) FROM article") },
        Case("SQL that reads no column") { _ = try $0.values(Int.self, "SELECT count(*) FROM article") },
        Case("a condition on what it is related to") { context in
            _ = try context.fetch(Citation.where { $0.article.title == "A" })
        },
        Case("an object that another one leads to") { _ = try $0.first(Citation.all)?.article?.views },
        Case("objects that lead to another one") { _ = try $0.first(Author.all)?.articles.count },
        Case("objects read with others") { _ = try $0.fetch(Citation.including { $0.article }) },
        Case("members", { _ = try $0.first(Writer.all)?.spouses.count }) { context in
            try context.first(Writer.all)?.spouses.insert(context.insert(Spouse(name: "T")))
        },
        Case("a search", { _ = try $0.fetch(Sheet.search("red")) }) { $0.insert(Sheet(title: "red", body: "")) },
    ]

    @Test("A block runs again if another context has changed a table that the block has read", arguments: reads)
    private func again(_ row: Case) async throws {
        let stack = try await Self.filled()
        #expect(try await Self.runs(stack, reading: row.read, changing: row.change) == 2)
        try await stack.close()
    }

    @Test(
        "A block runs again only if another process has changed a table that the block has read",
        arguments: [true, false]
    )
    func elsewhere(isRelated: Bool) async throws {
        let folder = try ScratchFolder()
        let stack = try await Self.filled(.sqlite(folder.file("s.sqlite")))
        let other = try await ContextStack.open(.sqlite(folder.file("s.sqlite")), models: Self.models, stack: .rootOnly)
        let runs = try await Self.runs(stack, elsewhere: other) { context in
            _ = try context.fetch(Article.all)
        } changing: { context in
            if isRelated { try Case.editArticle(context) } else { context.insert(Spouse(name: "T")) }
        }
        #expect(runs == (isRelated ? 2 : 1))
        try await other.close()
        try await stack.close()
    }

    @Test("A block does not run again after changes to tables that it has not read")
    func unread() async throws {
        let stack = try await Self.filled()
        let read: @Sendable (ObjectContext) throws -> Void = { _ = try $0.fetch(Citation.all) }
        #expect(try await Self.runs(stack, reading: read, changing: Case.editArticle) == 1)
        try await stack.close()
        let other = try await Self.filled()
        #expect(try await Self.runs(other, reading: { _ in }, changing: Case.editArticle) == 1)
        try await other.close()
    }

    @Test(
        "A block that moves on to a newer state continues if its earlier reads are the same there",
        arguments: [true, false]
    )
    func movedOn(isRelated: Bool) async throws {
        let stack = try await Self.filled()
        let runs = Mutex(0)
        try await stack.commitOverStore(on: BlockQueue(label: "test"), author: "test") { context in
            _ = try context.fetch(isRelated ? Author.all : Author.named)
            if isRelated { _ = try context.count(Article.all) }
            if runs.withLock({
                $0 += 1; return $0
            }) == 1 {
                try stack.meanwhile(Case.editArticle)
            }
            // A cursor reads the newest state, and from then on its context does too.
            var views: [Int] = []
            try context.forEachRow(Article.all) { views.append($0.views) }
            #expect(views == [1])
            context.insert(Author(name: "new"))
        } alongside: { _ in
        }
        #expect(runs.withLock { $0 } == (isRelated ? 2 : 1))
        try await stack.close()
    }

    @Test("A block that throws after it has seen two states runs again")
    func torn() async throws {
        let stack = try await Self.filled()
        let runs = Mutex(0)
        try await stack.commitOverStore(on: BlockQueue(label: "test"), author: "test") { context in
            let before = try context.sum(Article.all, \.views)
            if runs.withLock({
                $0 += 1; return $0
            }) == 1 {
                try stack.meanwhile(Case.editArticle)
            }
            var after = 0
            try context.forEachRow(Article.all) { after += $0.views }
            guard before == after else { throw CancellationError() }
            context.insert(Author(name: "\(after)"))
        } alongside: { _ in
        }
        #expect(try await stack.background { try $0.count(Author.where { $0.name == "1" }) } == 1)
        try await stack.close()
    }

    @Test("A block commits beside another writer that commits all the time", arguments: [true, false])
    func besideTightLoop(isOtherProcess: Bool) async throws {
        let folder = try ScratchFolder()
        let stack = try await Self.filled(.sqlite(folder.file("s.sqlite")))
        let other =
            isOtherProcess
            ? try await ContextStack.open(.sqlite(folder.file("s.sqlite")), models: Self.models, stack: .rootOnly)
            : stack
        let isOver = Atomic(false)
        let edit: @Sendable (SavingContext) throws -> Void = { context in
            while !isOver.load(ordering: .relaxed) {
                try context.first(Article.all)?.length = Int.random(in: 0...1_000_000)
                try context.commit()
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await other.background(edit) }
            // The writer also stops if a block fails, because otherwise the test would wait forever.
            defer { isOver.store(true, ordering: .relaxed) }
            let queue = BlockQueue(label: "test")
            // Several blocks run at once. They must not wait for each other when one of them keeps others from writing.
            try await withThrowingTaskGroup(of: Void.self) { blocks in
                for _ in 0..<4 {
                    blocks.addTask {
                        for _ in 0..<5 {
                            try await stack.commitOverStore(on: queue, author: "test") { context in
                                // The reads take longer than a commit.
                                for _ in 0..<20 { _ = try context.fetch(Article.all) }
                                context.insert(Author(name: "new"))
                            } alongside: { _ in
                            }
                        }
                    }
                }
                try await blocks.waitForAll()
            }
            isOver.store(true, ordering: .relaxed)
            try await group.waitForAll()
        }
        #expect(try await stack.background { try $0.count(Author.where { $0.name == "new" }) } == 20)
        if isOtherProcess { try await other.close() }
        try await stack.close()
    }

    @Test("Without history, any commit of another process repeats a block, unless the block has read nothing")
    func withoutHistory() async throws {
        let folder = try ScratchFolder()
        let configuration = StoreConfiguration(history: .off)
        var stacks: [ContextStack] = []
        for _ in 0..<2 {
            stacks.append(
                try await ContextStack.open(
                    .sqlite(folder.file("s.sqlite")),
                    models: Self.models,
                    stack: .rootOnly,
                    configuration: configuration
                )
            )
        }
        for (isReading, expected) in [(true, 2), (false, 1)] {
            let runs = try await Self.runs(stacks[0], elsewhere: stacks[1]) { context in
                if isReading { _ = try context.fetch(Article.all) }
            } changing: { context in
                context.insert(Spouse(name: "T"))
            }
            #expect(runs == expected)
            try await stacks[0].background { context in
                try context.fetch(Author.all).forEach(context.delete)
                try context.commit()
            }
        }
        for stack in stacks { try await stack.close() }
    }

    @Test("Blocks of one queue run one after the other, and each sees the results of the earlier ones")
    func inTurn() async throws {
        let (stack, queue) = (try await Self.filled(), BlockQueue(label: "test"))
        let runs = Mutex(0)
        let add: @Sendable (ObjectContext) throws -> Void = { context in
            runs.withLock { $0 += 1 }
            try context.first(Article.all)?.views += 1
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask { try await stack.commitOverStore(on: queue, author: "test", add) { _ in } }
            }
            try await group.waitForAll()
        }
        #expect(try await stack.background { try $0.first(Article.all)?.views } == 50)
        #expect(runs.withLock { $0 } == 50)
        try await stack.close()
    }

    @Test("A block that others have disturbed in each of its runs before the transaction runs inside it")
    func endless() async throws {
        let stack = try await Self.filled()
        let runs = Mutex(0)
        try await stack.commitOverStore(on: BlockQueue(label: "test"), author: "test") { context in
            let article = try #require(try context.first(Article.all))
            let run = runs.withLock { runs in
                runs += 1
                return runs
            }
            article.body = "run \(run) after \(article.views) changes"
            if run <= BlockQueue.runsOutside { try stack.meanwhile(Case.editArticle) }
        } alongside: { _ in
        }
        #expect(try await stack.background { try $0.first(Article.all)?.body } == "run 4 after 3 changes")
        try await stack.close()
    }

    @Test("If the engine asks for a further run each time, the call ends with a conflict")
    func limit() async throws {
        let stack = try await Self.filled()
        let runs = Mutex(0)
        await expect(.conflict) {
            try await stack.commitOverStore(on: BlockQueue(label: "test"), author: "test") { context in
                context.insert(Author(name: "new"))
                runs.withLock { $0 += 1 }
            } alongside: { _ in
                throw StaleReads()
            }
        }
        #expect(runs.withLock { $0 } == BlockQueue.runLimit)
        #expect(try await stack.background { try $0.count(Author.all) } == 1)
        try await stack.close()
    }

    @Test("A block cannot save, commit or run batches itself")
    func refused() async throws {
        let stack = try await Self.filled()
        let ways: [@Sendable (ObjectContext) throws -> Void] = [
            { try $0.cast.commit() }, { try $0.cast.save() },
            { context in try context.cast.batchUpdate(Article.all) { $0.views.set(to: 7) } },
            { context in try context.cast.batchDelete(Citation.all) },
        ]
        for way in ways {
            await expect(.invalidState) {
                try await stack.commitOverStore(on: BlockQueue(label: "test"), author: "test") { context in
                    context.insert(Author(name: "new"))
                    try way(context)
                } alongside: { _ in
                }
            }
        }
        let left = try await stack.background { context in
            [try context.count(Author.all), try context.count(Citation.all), try context.count(Article.viewed)]
        }
        #expect(left == [1, 1, 0])
        try await stack.close()
    }
}
