import Foundation
import class GRDB.DatabasePool
import StoreModels
import Synchronization
import Testing

@testable import Strata

@Suite("Blocks that run inside the transaction", .timeLimit(.minutes(5))) struct TransactionBlockTests {
    private enum Request {
        @TaskLocal static var id = 0
    }

    private struct Refusal: Error {}

    private final class Watch: Sendable {
        let isOver = Atomic(false)
        let torn = Atomic(0)
    }

    typealias Block = @Sendable (ObjectContext) throws -> Void

    /// Commits a block that counts as short.
    private static func commit(_ stack: ContextStack, _ block: @escaping Block) async throws {
        try await stack.commitOverStore(
            on: BlockQueue(label: "test"),
            pace: BlockPace(isShort: true),
            author: "test",
            block
        ) { _ in
        }
    }

    /// Commits blocks in one transaction, in this order.
    private static func together(_ store: SharingStore, _ blocks: [Block]) async throws -> SharingStore.Outcomes {
        let stack = store.stack
        return try await store.runTogether(blocks.map { block in { try await commit(stack, block) } })
    }

    @Test("Each block sees the changes of the blocks before it, and has its own number and history entry")
    func order() async throws {
        let store = try await SharingStore()
        let id = try await store.cells(0..<1)[0]
        let token = store.stack.historyToken
        let add: Block = { context in
            let cell = try #require(try context.find(id))
            #expect(try context.sum(Cell.all, \.b) == cell.b)
            #expect(try context.count(Cell.where { $0.a > 0 }) == cell.b)
            cell.b += 1
            context.insert(Cell(a: cell.b))
        }
        let outcomes = try await Self.together(store, Array(repeating: add, count: 20))
        #expect(outcomes.haveSucceeded && outcomes.transactions == 1)
        #expect(try await store.stack.background { try $0.find(id)?.b } == 20)
        let history = try await store.stack.history(since: token).map { $0.of(Cell.self) }
        #expect(history.map(\.token.sequence) == (1...20).map { token.sequence + $0 })
        #expect(history.allSatisfy { $0.updated == [id] && $0.inserted.count == 1 })
        try await store.stack.close()
    }

    @Test("A block that changes many rows is the last one of its transaction, and small blocks share one")
    func manyRows() async throws {
        let store = try await SharingStore()
        let small: Block = { $0.insert(Cell(a: 0)) }
        let large: Block = { context in for _ in 0..<WriteGroup.rowLimit { context.insert(Cell(a: 1)) } }
        let same = try await Self.together(store, [small, small, small])
        #expect(same.haveSucceeded && same.transactions == 1)
        for blocks in [[large, small, small], [small, large, small]] {
            let outcomes = try await Self.together(store, blocks)
            #expect(outcomes.haveSucceeded && outcomes.transactions == 2)
        }
        let counts = try plainRows(store.url, "SELECT count(*), sum(a) FROM Cell")
        #expect(counts == [[7 + 2 * WriteGroup.rowLimit, 2 * WriteGroup.rowLimit]])
        try await store.stack.close()
    }

    @Test("Commits of contexts and blocks come in the order of the calls, and a caller's thread runs no block")
    func mixed() async throws {
        let store = try await SharingStore()
        let (stack, ids) = (store.stack, try await store.cells(0..<2))
        let contexts = try store.contexts(2)
        try await store.edit(ids[0], in: contexts[0], a: 5)
        try await store.edit(ids[1], in: contexts[1], a: 7)
        let add: Block = { context in
            let cells = try context.fetch(Cell.all.sorted { $0.a.ascending })
            context.insert(Cell(a: try context.sum(Cell.all, \.a) * 10, b: cells.count))
        }
        let outcomes = try await store.runTogether([
            { try await contexts[0].commit() }, { try await Self.commit(stack, add) },
            { try await contexts[1].commit() }, { try await Self.commit(stack, add) },
        ])
        #expect(outcomes.haveSucceeded)
        // A thread of a caller runs no block. The writer's own thread runs both kinds.
        #expect(outcomes.transactions == 2)
        let stored = try await stack.background { context in
            try context.fetch(Cell.all.sorted { $0.a.ascending }).map { [$0.a, $0.b] }
        }
        #expect(stored == [[5, 0], [7, 0], [60, 2], [720, 3]])
        try await stack.close()
    }

    @Test("A block that fails leaves nothing, its error arrives unchanged, and the others are committed")
    func failures() async throws {
        let store = try await SharingStore()
        let id = try await store.cells(0..<1)[0]
        let add: Block = { try #require(try $0.find(id)).b += 1 }
        let outcomes = try await Self.together(
            store,
            [
                { _ in throw Refusal() }, add,
                { context in
                    try add(context)
                    throw Refusal()
                }, add,
                { context in
                    try add(context)
                    context.insert(Range2(low: 2, high: 1))
                }, add,
                { context in
                    try add(context)
                    try context.cast.commit()
                }, add,
                { context in
                    try #require(try context.find(id)).a = 9
                    try context.cast.batchDelete(Cell.all)
                },
            ]
        )
        let refusal = StrataError.Code("\(Refusal())")
        #expect(outcomes.codes == [refusal, nil, refusal, nil, .validation, nil, .invalidState, nil, .invalidState])
        #expect(try store.stored() == [[0, 4, 0]])
        try await store.stack.close()
    }

    @Test("If the transaction cannot begin, no block has run, and each call throws the reason")
    func busy() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("s.sqlite")
        let stack = try await ContextStack.open(
            .sqlite(url),
            models: savingModels,
            stack: .rootOnly,
            configuration: StoreConfiguration(busyTimeout: 0.05)
        )
        let lock = try DiskLock(url)
        let runs = Atomic(0)
        for _ in 0..<2 {
            await expect(.busy) {
                try await Self.commit(stack) { _ in runs.add(1, ordering: .relaxed) }
            }
        }
        #expect(runs.load(ordering: .relaxed) == 0)
        try lock.release()
        try await Self.commit(stack) { $0.insert(Cell(a: 1)) }
        #expect(try await stack.background { try $0.count(Cell.all) } == 1)
        try await stack.close()
        await expect(.closed) { try await Self.commit(stack) { $0.insert(Cell(a: 1)) } }
    }

    @Test("A block reads uncommitted changes in every way, and edits in every way")
    func everyWay() async throws {
        let store = try await SharingStore()
        let outcomes = try await Self.together(
            store,
            [
                { context in
                    let author = context.insert(Author(name: "Ada"))
                    for number in 0..<40 {
                        let article = context.insert(Article(slug: "s\(number)", title: "T\(number)", author: author))
                        context.insert(Citation(journal: "J\(number)", article: article))
                    }
                },
                { context in
                    // Relationships, cursors, rows and SQL.
                    let author = try #require(try context.first(Author.all))
                    #expect(try author.articles.count == 40)
                    var titles: Set<String> = []
                    try context.forEach(Article.all) { article in
                        titles.insert(article.title)
                        article.views += 1
                    }
                    #expect(titles.count == 40)
                    var views = 0
                    try context.forEachRow(Article.all) { views += $0.views }
                    #expect(views == 40)
                    #expect(try context.values(Int.self, "SELECT count(*) FROM article") == [40])
                    let citations = try context.fetch(Citation.including { $0.article })
                    #expect(citations.allSatisfy { $0.article?.author === author })
                },
                { context in
                    // Neither a value that is set back nor an undone delete is a change.
                    let first = try #require(try context.first(Article.where { $0.slug == "s0" }))
                    first.views = 7
                    first.views = 1
                    let second = try #require(try context.first(Article.where { $0.slug == "s1" }))
                    context.delete(second)
                    context.rollback([second])
                    #expect(try context.exists(Article.where { $0.slug == "s1" }))
                    try? context.savepoint {
                        first.title = "lost"
                        throw Refusal()
                    }
                    #expect(first.title == "T0")
                },
                { context in
                    // Deletes with their consequences, and two values that change places.
                    let author = try #require(try context.first(Author.all))
                    try context.fetch(Article.where { $0.slug != "s0" && $0.slug != "s1" }).forEach(context.delete)
                    #expect(try author.articles.count == 2)
                    #expect(try context.count(Citation.all) == 2)
                    let articles = try context.fetch(Article.all.sorted { $0.slug.ascending })
                    (articles[0].slug, articles[1].slug) = (articles[1].slug, articles[0].slug)
                },
            ]
        )
        #expect(outcomes.haveSucceeded && outcomes.transactions == 1)
        let left = try await store.stack.background { context in
            try context.fetch(Article.all.sorted { $0.title.ascending }).map {
                "\($0.slug ?? "") \($0.title) \($0.views)"
            }
        }
        #expect(left == ["s1 T0 1", "s0 T1 1"])
        #expect(try await store.stack.background { try $0.count(Citation.all) } == 2)
        try await store.stack.close()
    }

    @Test("A search in a block finds what the block has changed, also after a block that has failed")
    func search() async throws {
        let store = try await SharingStore(models: savingModels + [Sheet.self, Binder.self])
        let edit: @Sendable (Bool) -> Block = { isFailing in
            { context in
                let sheet = try context.first(Sheet.all) ?? context.insert(Sheet(title: "red", body: "stone"))
                sheet.body = (sheet.body ?? "") + " wall"
                context.insert(Sheet(title: "blue", body: "wall"))
                #expect(try context.count(Sheet.search("wall")) == context.count(Sheet.all))
                if isFailing { throw Refusal() }
            }
        }
        let blocks = [true, false, true, true, false, false].map(edit)
        let outcomes = try await Self.together(store, blocks)
        #expect(outcomes.codes.map { $0 == nil } == [false, true, false, false, true, true])
        for block in blocks { try? await Self.commit(store.stack, block) }
        #expect(try await store.stack.background { try $0.count(Sheet.search("wall")) } == 7)
        try await store.stack.close()
    }

    @Test("A block searches while its cursor is open, also after an earlier block that has searched")
    func searchInLoop() async throws {
        let store = try await SharingStore(models: savingModels + [Sheet.self, Binder.self])
        for round in 0..<3 {
            try await Self.commit(store.stack) { context in
                for number in 0..<3 { context.insert(Sheet(title: "\(round) \(number)", body: "stone")) }
                try context.forEach(Sheet.all) { sheet in
                    sheet.body = "wall"
                    let found = try context.count(Sheet.search("wall"))
                    #expect(found > 0)
                }
            }
        }
        #expect(try await store.stack.background { try $0.count(Sheet.search("wall")) } == 9)
        try await store.stack.close()
    }

    @Test("A cursor that outlives its block ends with it, and holds up no other transaction")
    func cursors() async throws {
        let store = try await SharingStore()
        _ = try await store.cells(0..<10)
        let kept = Mutex<UnsafeTransfer<RowCursor<Cell>>?>(nil)
        try await Self.commit(store.stack) { context in
            let cursor = try context.rowCursor(Cell.all)
            #expect(try cursor.next() != nil)
            let box = UnsafeTransfer(cursor)
            kept.withLock { $0 = box }
        }
        try await store.stack.background { context in
            context.insert(Cell(a: 100))
            try context.commit()
        }
        let cursor = try #require(kept.withLock { $0 })
        await expect(.contextInvalidated) { _ = try cursor.open().next() }
        #expect(try await store.stack.background { try $0.count(Cell.all) } == 11)
        try await store.stack.close()
    }

    @Test("SQL of a block cannot end the transaction")
    func rawSQL() async throws {
        let store = try await SharingStore()
        let texts: [SQL] = ["ROLLBACK", "COMMIT", "INSERT INTO Cell (id) VALUES (1)", "BEGIN IMMEDIATE"]
        var blocks: [Block] = texts.map { sql in
            { context in
                context.insert(Cell(a: 1))
                _ = try context.values(Int.self, sql)
            }
        }
        blocks.append { context in context.insert(Cell(a: 2)) }
        let outcomes = try await Self.together(store, blocks)
        #expect(outcomes.codes == Array(repeating: .invalidQuery, count: 4) + [nil])
        #expect(try store.stored() == [[2, 0, 0]])
        try await store.stack.close()
    }

    @Test("Many new objects get ids inside the transaction, also after a block that has failed")
    func ids() async throws {
        let store = try await SharingStore()
        let insert: Block = { context in for number in 0..<2_000 { context.insert(Cell(a: number)) } }
        let outcomes = try await Self.together(
            store,
            [
                insert,
                { context in
                    try insert(context)
                    throw Refusal()
                },
                insert,
            ]
        )
        #expect(outcomes.codes.map { $0 == nil } == [true, false, true])
        try await store.stack.background { context in
            for number in 0..<100 { context.insert(Cell(a: number)) }
            try context.commit()
        }
        #expect(try await store.stack.background { try $0.count(Cell.all) } == 4_100)
        try await store.stack.close()
    }

    @Test("A block sees the task-local values of its caller, and its context ends with it")
    func surroundings() async throws {
        let store = try await SharingStore()
        let stack = store.stack
        let handles = Mutex<[ContextHandle]>([])
        let outcomes = try await store.runTogether(
            (1...5).map { number in
                {
                    try await Request.$id.withValue(number) {
                        try await Self.commit(stack) { context in
                            context.insert(Cell(a: Request.id))
                            context.checkIsolation()
                            handles.withLock { $0.append(context.handle) }
                        }
                    }
                }
            }
        )
        #expect(outcomes.haveSucceeded)
        let numbers = try await stack.background { try $0.fetch(Cell.all.sorted { $0.a.ascending }).map(\.a) }
        #expect(numbers == [1, 2, 3, 4, 5])
        for handle in handles.withLock({ $0 }) {
            await expect(.contextInvalidated) { try await handle.perform { _ in } }
        }
        try await stack.close()
    }

    @Test("Callbacks of a block run after its commit, and only then")
    func callbacks() async throws {
        let store = try await SharingStore()
        let calls = Mutex<[Int]>([])
        let block: @Sendable (Int) -> Block = { number in
            { context in
                context.insert(Cell(a: number))
                context.afterCommit { calls.withLock { $0.append(number) } }
                if number == 2 { throw Refusal() }
            }
        }
        _ = try await Self.together(store, [block(1), block(2), block(3)])
        #expect(try await eventually { calls.withLock { $0.sorted() } == [1, 3] })
        try await store.stack.close()
    }

    @Test("Blocks that were short run inside the transaction from then on, and long ones before it")
    func pace() async throws {
        let pace = BlockPace()
        #expect(!pace.isShort)
        pace.measure {}
        #expect(pace.isShort)
        pace.measure { Thread.sleep(forTimeInterval: 0.01) }
        #expect(!pace.isShort)
        // A block that throws may have ended early, so only a long one counts.
        #expect(throws: Refusal.self) { try pace.measure { () throws -> Void in throw Refusal() } }
        #expect(!pace.isShort)
        pace.isShort = true
        #expect(throws: Refusal.self) {
            try pace.measure { () throws -> Void in
                Thread.sleep(forTimeInterval: 0.01)
                throw Refusal()
            }
        }
        #expect(!pace.isShort)
    }

    @Test("In a caller's own database, whose code may wait for a block, blocks run before the transaction")
    func ownPool() async throws {
        let folder = try ScratchFolder()
        let pool = try DatabasePool(path: folder.file("own.sqlite").path)
        let stack = try await ContextStack.open(.pool(pool), models: savingModels, stack: .rootOnly)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    try await Self.commit(stack) { context in
                        let cell = try context.first(Cell.all) ?? context.insert(Cell(a: 0))
                        cell.a += 1
                        pool.writeWithoutTransaction { _ in }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await stack.background { try $0.fetch(Cell.all).map(\.a) } == [20])
        try await stack.close()
    }

    @Test("Blocks, commits and readers at the same time lose no update and see no half of a transfer")
    func load() async throws {
        let folder = try ScratchFolder()
        let stack = try await ContextStack.open(
            .sqlite(folder.file("load.sqlite")),
            models: savingModels,
            stack: .rootOnly,
            mergePolicy: .mine
        )
        let ids = try await stack.background { context in
            let cells = (0..<4).map { context.insert(Cell(a: $0, b: 100)) }
            try context.commit()
            return cells.map(\.id)
        }
        let watch = Watch()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while !watch.isOver.load(ordering: .relaxed) {
                    let sum = try await stack.background { context in
                        // Each read may take a moment, so that a commit could come in between.
                        let first = try context.fetch(Cell.where { $0.a < 2 }).reduce(0) { $0 + $1.b }
                        return try context.fetch(Cell.where { $0.a >= 2 && $0.a < 4 }).reduce(first) { $0 + $1.b }
                    }
                    if sum != 400 { watch.torn.add(1, ordering: .relaxed) }
                }
            }
            defer { watch.isOver.store(true, ordering: .relaxed) }
            try await withThrowingTaskGroup(of: Void.self) { writers in
                for writer in 0..<6 {
                    writers.addTask {
                        let pace = BlockPace(isShort: writer != 0)
                        for round in 0..<60 {
                            let (from, to) = (ids[(writer + round) % 4], ids[(writer + round + 1) % 4])
                            try await stack.commitOverStore(
                                on: BlockQueue(label: "test \(writer)"),
                                pace: pace,
                                author: "test"
                            ) { context in
                                try context.find(from)?.b -= 1
                                try context.find(to)?.b += 1
                                context.insert(Cell(a: 10 + writer, c: round))
                            } alongside: { _ in
                            }
                        }
                    }
                }
                writers.addTask {
                    for round in 0..<60 {
                        try await stack.background { context in
                            context.insert(Cell(a: 20, c: round))
                            try context.commit()
                        }
                    }
                }
                try await writers.waitForAll()
            }
            watch.isOver.store(true, ordering: .relaxed)
            try await group.waitForAll()
        }
        #expect(watch.torn.load(ordering: .relaxed) == 0)
        let (sum, count) = try await stack.background { context in
            (try context.sum(Cell.where { $0.a < 4 }, \.b), try context.count(Cell.where { $0.a >= 10 }))
        }
        #expect(sum == 400 && count == 7 * 60)
        try await stack.close()
    }
}
