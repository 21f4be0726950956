import Foundation
import Testing

@testable import Strata

@Suite("Limits of a transaction that commits share", .timeLimit(.minutes(5))) struct SharedCommitLimitTests {
    @Test("A commit of many rows and a batch get separate transactions, and see the commits before them")
    func large() async throws {
        let store = try await SharingStore()
        let ids = try await store.cells(0..<5)
        let contexts = try store.contexts(5)
        for (id, handle) in zip(ids, contexts) { try await store.edit(id, in: handle, b: 1) }
        let many = try store.contexts(1)[0]
        try await many.perform { context in
            for _ in 0..<501 { context.insert(Cell(a: 1_000)) }
        }
        var calls: [@Sendable () async throws -> Void] = []
        for handle in contexts[..<2] + [many] + contexts[2..<3] { calls.append { try await handle.commit() } }
        let stack = store.stack
        calls.append {
            try await stack.background { context in
                let changes = try context.batchUpdate(Cell.where { $0.b == 1 }) { $0.c.set(to: 5) }
                #expect(changes.updated == Array(ids[..<3]))
            }
        }
        for handle in contexts[3...] { calls.append { try await handle.commit() } }
        let token = stack.historyToken
        let outcomes = try await store.runTogether(calls)
        #expect(outcomes.haveSucceeded)
        // Two commits, the large one, one commit, the batch, two commits.
        #expect(outcomes.transactions == 5)
        let stored = Array(try store.stored().prefix(5))
        #expect(stored == [[0, 1, 5], [1, 1, 5], [2, 1, 5], [3, 1, 0], [4, 1, 0]])
        #expect(try plainRows(store.url, "SELECT count(*) FROM Cell WHERE a = 1000") == [[501]])
        let history = try await stack.history(since: token)
        let numbers = (1...Int64(7)).map { token.sequence + $0 }
        #expect(history.map(\.token.sequence) == numbers && stack.historyToken.sequence == numbers.last)
        try await stack.close()
    }

    @Test("A transaction closes when it has many rows, or when its time is over")
    func limits() async throws {
        let count = 11
        let store = try await SharingStore()
        let contexts = try store.contexts(count)
        for handle in contexts {
            try await handle.perform { context in
                for index in 0..<500 { context.insert(Cell(a: index)) }
            }
        }
        // 5,000 rows in the first transaction.
        let large = try await store.commitTogether(contexts)
        #expect(large.haveSucceeded && large.transactions == 2)
        #expect(try plainRows(store.url, "SELECT count(*) FROM Cell") == [[500 * count]])
        for handle in contexts { try await handle.perform { _ = $0.insert(Cell(a: 0)) } }
        let small = try await store.commitTogether(contexts)
        #expect(small.haveSucceeded && small.transactions == 1)
        store.stack.core.engine.setGroupTimeLimit(.zero)
        for handle in contexts { try await handle.perform { _ = $0.insert(Cell(a: 0)) } }
        let slow = try await store.commitTogether(contexts)
        #expect(slow.haveSucceeded && slow.transactions == count)
        #expect(try plainRows(store.url, "SELECT count(*) FROM Cell") == [[502 * count]])
        try await store.stack.close()
    }

    @Test(
        "A transaction closes after a commit with large values, in the row or outside of it, and small ones share one",
        arguments: [true, false]
    )
    func bytes(isOutside: Bool) async throws {
        let count = 3
        let store = try await SharingStore(models: savingModels + [Photo.self, Album.self])
        let contexts = try store.contexts(count)
        // In the last round, all commits are small.
        for place in 0...count {
            for (index, handle) in contexts.enumerated() {
                let size = index == place ? WriteGroup.byteLimit : 1_000
                try await handle.perform { context in
                    if isOutside {
                        _ = context.insert(Photo(name: "\(place) \(index)", image: Data(count: size)))
                    } else {
                        _ = context.insert(Author(name: String(repeating: "x", count: size)))
                    }
                }
            }
            let outcomes = try await store.commitTogether(contexts)
            // After the last commit, the transaction ends anyway.
            #expect(outcomes.haveSucceeded && outcomes.transactions == (place < count - 1 ? 2 : 1), "\(place)")
        }
        try await store.stack.close()
    }

    @Test("The values of all commits of a transaction count, also those of a commit that has failed")
    func sumOfBytes() async throws {
        let store = try await SharingStore()
        let contexts = try store.contexts(5)
        for (index, handle) in contexts.enumerated() {
            try await handle.perform { context in
                // The author is written before the article.
                context.insert(Author(name: String(repeating: "x", count: WriteGroup.byteLimit / 2)))
                context.insert(Article(slug: index < 2 ? "same" : "\(index)", title: "\(index)"))
            }
        }
        let outcomes = try await store.commitTogether(contexts)
        let codes: [StrataError.Code?] = [nil, .notUnique, nil, nil, nil]
        #expect(outcomes.codes == codes)
        // Two commits, of which one has failed, then two, then one.
        #expect(outcomes.transactions == 3)
        #expect(try plainRows(store.url, "SELECT count(*) FROM Author") == [[4]])
        try await store.stack.close()
    }

    /// Changes cells as an engine does.
    private static func addOne(toFirst count: Int, _ stack: ContextStack) throws {
        let limit = StoredValue.integer(Int64(count))
        try stack.transact(author: "test") { transaction in
            let numbers = try transaction.numbers("SELECT id FROM Cell WHERE a < ?", [limit])
            let version = StoredValue.integer(transaction.number)
            try transaction.run("UPDATE Cell SET b = b + 1, _version = ? WHERE a < ?", [version, limit])
            try transaction.report(updated: numbers, ["b"], of: Cell.self)
        }
    }

    @Test("A transaction closes after an engine's write that changes many rows, and shares one that changes few")
    func engines() async throws {
        let store = try await SharingStore()
        let stack = store.stack
        let count = WriteGroup.rowLimit
        _ = try await store.cells(0..<count)
        for limit in [10, count] {
            let contexts = try store.contexts(3)
            for handle in contexts { try await handle.perform { _ = $0.insert(Author(name: "small")) } }
            let outcomes = try await store.runTogether([
                { try await contexts[0].commit() },
                { try await stack.background { _ in try Self.addOne(toFirst: limit, stack) } },
                { try await contexts[1].commit() }, { try await contexts[2].commit() },
            ])
            #expect(outcomes.haveSucceeded && outcomes.transactions == (limit < count ? 1 : 2), "\(limit)")
        }
        let sums = try plainRows(store.url, "SELECT count(*), sum(b) FROM Cell")
        #expect(sums == [[count, count + 10]])
        try await stack.close()
    }
}
