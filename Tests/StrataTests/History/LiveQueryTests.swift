import Foundation
import StoreModels
import Testing

@testable import Strata

@Suite("Live results") struct LiveQueryTests {
    @Test("The first element comes at once, then one for each change that concerns the query")
    func changes() async throws {
        let stack = try await openStack(.rootOnly)
        let ids = try await stack.on(.root) { context in
            let authors = ["b", "a", "c"].map { context.insert(Author(name: $0, fee: 1)) }
            try context.commit()
            return authors.map(\.id)
        }
        let query = Author.where { $0.fee == 1 }.sorted { $0.name.ascending }
        var live = try stack.live(query).makeAsyncIterator()
        var rows = try #require(try await live.next())
        #expect(rows.map(\.name) == ["a", "b", "c"])
        #expect(rows.difference.inserted == [0, 1, 2] && rows.difference.removed.isEmpty)

        // The first commit does not concern the query. The second one renames a row, which moves to the end.
        try await stack.background { context in
            context.insert(Author(name: "aa", fee: 2))
            context.insert(Article(title: "none of its business"))
            try context.commit()
        }
        try await stack.background { context in
            try context.find(ids[1])?.name = "d"
            try context.commit()
        }
        rows = try #require(try await live.next())
        #expect(rows.map(\.name) == ["b", "c", "d"])
        #expect(rows.difference.moved == [.init(from: 0, to: 2)] && rows.difference.changed == [.init(from: 0, to: 2)])
        #expect(rows.difference.inserted.isEmpty && rows.difference.removed.isEmpty)

        // Several commits between two elements are combined into one element.
        try await stack.background { context in
            context.delete(try #require(try context.find(ids[0])))
            try context.commit()
            context.insert(Author(name: "bb", fee: 1))
            try context.commit()
        }
        rows = try #require(try await live.next())
        #expect(rows.map(\.name) == ["bb", "c", "d"])
        #expect(rows.difference.inserted == [0] && rows.difference.removed == [0] && rows.difference.moved.isEmpty)
        try await stack.close()
        #expect(try await live.next() == nil)
    }

    @Test("The rows include unsaved edits of the context and its parents, and no edits of other contexts")
    func layers() async throws {
        let stack = try await openStack(.rootOnly)
        try stack.create(.private, named: .network)
        try stack.create(.private, named: .other)
        var live = try stack.live(Author.all, in: .named(.network)).makeAsyncIterator()
        #expect(try await live.next()?.isEmpty == true)
        try await stack.on(.other) { _ = $0.insert(Author(name: "other")) }
        try await stack.on(.network) { _ = $0.insert(Author(name: "own")) }
        #expect(try await live.next()?.map(\.name) == ["own"])
        try await stack.on(.root) { _ = $0.insert(Author(name: "parent")) }
        #expect(try await live.next()?.map(\.name).sorted() == ["own", "parent"])
        try await stack.on(.other) { try $0.save() }
        #expect(try await live.next()?.count == 3)
        try await stack.on(.network) { $0.rollback() }
        #expect(try await live.next()?.map(\.name).sorted() == ["other", "parent"])
        // A commit of already shown edits does not cause an element.
        try await stack.commit(.root)
        try await stack.on(.network) { try #require(try $0.first(Author.where { $0.name == "parent" })).fee = 1 }
        let rows = try #require(try await live.next())
        #expect(rows.difference.changed.count == 1 && rows.difference.inserted.isEmpty)
        // This query shows the store alone.
        let empty = try await openStack(.empty)
        var committed = try empty.live(Author.all).makeAsyncIterator()
        #expect(try await committed.next()?.isEmpty == true)
        try await empty.close()
        try await stack.close()
    }

    @Test("Changes of related objects count if a condition uses them")
    func relationships() async throws {
        let stack = try await openStack(.rootOnly)
        let (article, spouse) = try await stack.on(.root) { context in
            let author = context.insert(Author(name: "a"))
            let article = context.insert(Article(title: "t", author: author))
            context.insert(Writer(name: "w"))
            let spouse = context.insert(Spouse(name: "z"))
            try context.commit()
            return (article.id, spouse.id)
        }
        var articles = try stack.live(Article.where { $0.author.name == "b" }).makeAsyncIterator()
        var writers = try stack.live(Writer.where { $0.spouses.any { $0.name == "z" } }).makeAsyncIterator()
        #expect(try await articles.next()?.count == 0)
        #expect(try await writers.next()?.count == 0)
        try await stack.background { context in
            try #require(try context.find(article)?.author).name = "b"
            try #require(try context.first(Writer.all)).spouses.insert(try #require(try context.find(spouse)))
            try context.commit()
        }
        #expect(try await articles.next()?.map(\.id) == [article])
        #expect(try await writers.next()?.count == 1)
        try await stack.close()
    }

    @Test("Sections are runs of rows with the same key")
    func sections() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.on(.root) { context in
            for (title, views) in [("a", 2), ("b", 1), ("c", 2), ("d", 1), ("e", 3)] {
                context.insert(Article(title: title, views: views))
            }
        }
        var live = try stack.live(Article.sorted { [$0.views.ascending, $0.title.ascending] }).makeAsyncIterator()
        let rows = try #require(try await live.next())
        let sections = rows.sections { $0.views }
        #expect(sections.map(\.key) == [1, 2, 3])
        #expect(sections.map { rows[$0.indices].map(\.title) } == [["b", "d"], ["a", "c"], ["e"]])
        try await stack.close()
    }

    @Test("A live query ends when its context ends, its task is cancelled, or its query is invalid")
    func ends() async throws {
        let stack = try await openStack(.rootOnly)
        try stack.create(.private, named: .network)
        let waiting = Task {
            var elements = 0
            for try await _ in try stack.live(Author.all, in: .named(.network)) { elements += 1 }
            return elements
        }
        let cancelled = Task {
            for try await _ in try stack.live(Author.all) {}
            return true
        }
        _ = try await eventually { stack.core.engine.layers.state.withLock { $0.log.subscribers.tasks.count == 2 } }
        try await stack.reset()
        #expect(try await waiting.value == 1)
        cancelled.cancel()
        #expect(try await cancelled.value)
        var wrong = try stack.live(Author.all.limit(-1)).makeAsyncIterator()
        let error = await #expect(throws: StrataError.self) { try await wrong.next() }
        #expect(error?.code == .invalidQuery)
        try await stack.close()
        // The stack no longer keeps events for any follower.
        #expect(stack.core.engine.layers.state.withLock { $0.log.subscribers.tasks.isEmpty })
    }

    @Test("A list gives its reader back, also if its context has just ended, or if its query is invalid")
    func readers() async throws {
        let stack = try await openStack(.rootOnly)
        let store = stack.core.engine
        let context = try stack.create(.private, named: .network).id
        let observer = LayerObserver(store.layers, of: context)
        let list = try #require(try LiveList(Author.all, after: nil, observer, store))
        for last in [nil, list] {
            #expect(throws: StrataError.self) { try LiveList(Author.all.limit(-1), after: last, observer, store) }
        }
        try await stack.reset()
        #expect(try LiveList(Author.all, after: list, observer, store) == nil)
        #expect(store.usedReaderCount == 0)
        try await stack.close()
    }

    /// Holds an object from block to block.
    private enum Held: ContextStateKey { typealias Value = Author }

    @Test("A context over the committed state, and lists of it, show the store for changes that a save has dropped")
    func droppedChanges() async throws {
        let stack = try await openStack(.rootOnly)
        let handle = try stack.create(.private, reads: .committed)
        let (id, other) = try await stack.on(.root) { context in
            let authors = (0..<8).map { context.insert(Author(name: "\($0)", fee: 1)) }
            try context.commit()
            authors[0].fee = 2
            return (authors[0].id, authors[1].id)
        }
        var live = handle.live(Author.all).makeAsyncIterator()
        #expect(try await live.next()?.first?.fee == 1)
        for savesMore in [false, true] {
            try await handle.perform { context in
                let author = try #require(try context.find(id))
                author.fee = 3
                if savesMore { try context.find(other)?.fee = 3 }
                context.state[Held.self] = author
            }
            #expect(try await live.next()?.first?.fee == 3)
            try await handle.perform { context in
                context.mergePolicy = .theirs
                try context.save()
            }
            #expect(try await live.next()?.map(\.fee) == Array(repeating: 1, count: 8))
            #expect(try await handle.perform { $0.state[Held.self]?.fee } == 1)
        }
        try await stack.close()
    }

    @Test("A list knows which rows may have changed, by commits of any process and by layers that it shows")
    func changedRows() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let (left, right) = (try await openBank(url), try await openBank(url))
        let store = left.core.engine
        try await left.background { context in
            for number in 0..<16 { context.insert(Account(name: "\(number)", balance: 0)) }
            try context.commit()
        }
        let observer = LayerObserver(store.layers, of: nil)
        var list = try #require(try LiveList(Account.all, after: nil, observer, store))
        #expect(list.changed == nil && list.rows.count > 16)
        /// Reads the next list, and returns the balances of the rows that may have changed.
        func changed() throws -> [Int]? {
            list = try #require(try LiveList(Account.all, after: list, observer, store))
            return list.changed.map { changed in list.rows.filter { changed.contains($0._$id) }.map(\.balance) }
        }
        #expect(try changed() == [])
        for (balance, stack) in [(-1, left), (-2, right)] {
            try await stack.background { context in
                try #require(try context.first(Account.all.offset(3))).balance = balance
                try context.commit()
            }
            #expect(try changed() == [balance])
        }
        try await right.background { context in
            _ = try context.batchUpdate(Account.where { $0.balance == -2 }) { $0.balance.set(to: -3) }
        }
        #expect(try changed() == [-3])
        // Edits that a commit has not reached are not shown.
        try await left.on(.root) { try #require(try $0.first(Account.all)).balance = -4 }
        #expect(try changed() == [])
        // A list that is not the last one of its observer knows nothing.
        let old = list
        _ = try changed()
        list = try #require(try LiveList(Account.all, after: old, observer, store))
        #expect(list.changed == nil)
        // Raw SQL may insert and change a row under an integer that is not an id. No set of changed rows contains it.
        try folder.sql(url, "INSERT INTO Account (id, name, balance, note) VALUES (-7, 'raw', -8, '')")
        for balance in [-8, -9] {
            try folder.sql(url, "UPDATE Account SET balance = \(balance) WHERE id = -7")
            try await right.background { context in
                try #require(try context.first(Account.all.offset(3))).balance += 1
                try context.commit()
            }
            #expect(try changed() == nil)
            #expect(list.rows.contains { $0.balance == balance })
        }
        try await left.close()
        try await right.close()
    }

    @Test("A live query shows commits of another stack on the same file")
    func otherStack() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let (left, right) = (try await openBank(url), try await openBank(url))
        var live = try left.live(Account.where { $0.balance < 0 }).makeAsyncIterator()
        #expect(try await live.next()?.isEmpty == true)
        try await right.background { context in
            try #require(try context.first(Account.all)).balance = -5
            try context.commit()
        }
        #expect(try await live.next()?.map(\.balance) == [-5])
        try await left.close()
        try await right.close()
    }

    @Test("Differences lead from one list to the next, with as few moves as possible")
    func differences() {
        var generator = SeededGenerator(seed: 11)
        var old: [JoinRow] = []
        for _ in 0..<2000 {
            var new = old.filter { _ in Int.random(in: 0...3, using: &generator) > 0 }
            for index in new.indices where Int.random(in: 0...4, using: &generator) == 0 { new[index].left += 1 }
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                new.insert(
                    row(.random(in: 1...12, using: &generator)),
                    at: .random(in: 0...new.count, using: &generator)
                )
            }
            if Bool.random(using: &generator), new.count > 1 {
                new.swapAt(.random(in: new.indices, using: &generator), .random(in: new.indices, using: &generator))
            }
            var known: Set<Int64> = []
            new = new.filter { known.insert($0._$id).inserted }
            expectDifference(from: old, to: new)
            old = new
        }
    }

    private func row(_ number: Int64) -> JoinRow { JoinRow(number: number, left: 1, right: 1) }

    /// Applies the difference step by step, and compares the result.
    private func expectDifference(from old: [JoinRow], to new: [JoinRow]) {
        let difference = LiveDifference(from: old, to: new)
        var list = old.map(\._$id)
        let moved = Set(difference.moved.map(\.from))
        for place in (difference.removed + Array(moved)).sorted(by: >) { list.remove(at: place) }
        let placed =
            difference.inserted.map { ($0, new[$0]._$id) } + difference.moved.map { ($0.to, old[$0.from]._$id) }
        for (place, number) in placed.sorted(by: { $0.0 < $1.0 }) { list.insert(number, at: place) }
        #expect(list == new.map(\._$id))
        for (to, row) in new.enumerated() {
            let from = old.firstIndex { $0._$id == row._$id }
            let isChanged = from.map { old[$0].left != row.left } ?? false
            #expect(difference.changed.contains { $0.to == to && $0.from == from } == isChanged)
        }
        #expect(difference.isEmpty == (old.map { [$0._$id, $0.left] } == new.map { [$0._$id, $0.left] }))
    }
}
