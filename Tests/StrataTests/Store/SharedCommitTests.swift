import Foundation
import Testing

@testable import Strata

@Suite("Commits that share a transaction", .timeLimit(.minutes(5))) struct SharedCommitTests {
    @Test("Each commit of a transaction has its own number, changes and history entry, and all appear at once")
    func numbers() async throws {
        let count = 20
        let store = try await SharingStore()
        let stack = store.stack
        let cells = try await store.cells(0..<count)
        let contexts = try store.contexts(count)
        var added: [ObjectID<Cell>] = []
        for (index, handle) in contexts.enumerated() {
            let old = cells[index]
            added.append(
                try await handle.perform { context in
                    context.author = "author \(index)"
                    try #require(try context.find(old)).b = index + 1
                    return context.insert(Cell(a: 100 + index)).id
                }
            )
        }
        var live = try stack.live(Cell.where { $0.a >= 100 }.sorted { $0.a.ascending }).makeAsyncIterator()
        #expect(try await live.next()?.isEmpty == true)
        let sequence = stack.changes(of: Cell.self)
        let token = stack.historyToken
        let outcomes = try await store.commitTogether(contexts)
        #expect(outcomes.haveSucceeded)
        #expect(outcomes.transactions == 1)

        // A live query never shows a part of the transaction.
        let rows = try #require(try await live.next())
        #expect(rows.map(\.a) == Array(100..<100 + count))
        var told: [ObjectChanges<Cell>] = []
        for try await changes in sequence {
            told.append(changes)
            if told.count == count { break }
        }
        let history = try await stack.history(since: token).map { $0.of(Cell.self) }
        let numbers = (1...Int64(count)).map { token.sequence + $0 }
        for changes in [told, history] {
            #expect(changes.map(\.token.sequence) == numbers)
            #expect(changes.compactMap(\.author) == (0..<count).map { "author \($0)" })
            #expect(changes.map(\.inserted) == added.map { [$0] })
            #expect(changes.map(\.updated) == cells.map { [$0] })
            for (changes, cell) in zip(changes, cells) { #expect(changes.updatedColumns(of: cell) == ["b"]) }
        }
        #expect(stack.historyToken.sequence == numbers.last)
        let versions = try plainRows(store.url, "SELECT _version FROM Cell WHERE a >= 100 ORDER BY a")
        #expect(versions == numbers.map { [Int($0)] })

        for (index, handle) in contexts.enumerated() {
            #expect(try await store.values(cells[index], in: handle) == [index, index + 1, 0])
            #expect(try await store.values(added[index], in: handle) == [100 + index, 0, 0])
            #expect(try await handle.perform { !$0.hasChanges })
        }
        try await stack.close()
    }

    @Test("Commits that change different columns of a row all survive, and each context shows all of them")
    func columns() async throws {
        let store = try await SharingStore()
        let id = try await store.cells(0..<1)[0]
        let contexts = try store.contexts(3)
        try await store.edit(id, in: contexts[0], a: 1)
        try await store.edit(id, in: contexts[1], b: 2)
        try await store.edit(id, in: contexts[2], c: 3)
        let outcomes = try await store.commitTogether(contexts)
        #expect(outcomes.haveSucceeded && outcomes.transactions == 1)
        #expect(try store.stored() == [[1, 2, 3]])
        for handle in contexts { #expect(try await store.values(id, in: handle) == [1, 2, 3]) }
        try await store.stack.close()
    }

    @Test("A merge policy decides as if each commit had a separate transaction", arguments: [true, false])
    func policies(isSharing: Bool) async throws {
        let sum = MergePolicy.custom { conflict in
            guard let (base, mine, theirs) = conflict.values(of: Int.self) else { return .error }
            return .value(mine + theirs - base)
        }
        let cases: [(MergePolicy, [Int])] = [
            (.error, [5, 2, 0]), (.mine, [7, 2, 7]), (.theirs, [5, 2, 7]), (sum, [12, 2, 7]),
        ]
        for (policy, expected) in cases {
            let store = try await SharingStore(isSharing: isSharing)
            let id = try await store.cells(0..<1)[0]
            let contexts = try store.contexts(3)
            try await store.edit(id, in: contexts[0], a: 5)
            try await store.edit(id, in: contexts[1], a: 7, c: 7)
            try await contexts[1].perform { $0.mergePolicy = policy }
            try await store.edit(id, in: contexts[2], b: 2)
            let outcomes = try await store.commitTogether(contexts)
            let second = policy == .error ? SaveOutcome.conflict(id, "a") : .success
            let commits: [SaveOutcome] = [.success, second, .success]
            #expect(outcomes.commits == commits, "\(policy)")
            #expect(outcomes.transactions == (isSharing ? 1 : 3), "\(policy)")
            #expect(try store.stored() == [expected], "\(policy)")
            let shown = policy == .error ? [7, 2, 7] : expected
            #expect(try await store.values(id, in: contexts[1]) == shown, "\(policy)")
            let hasChanges = try await contexts[1].perform { $0.hasChanges }
            #expect(hasChanges == (policy == .error), "\(policy)")
            try await store.stack.close()
        }
    }

    // MARK: Parents

    /// The state after two children of main and root have committed, while main has unsaved edits of the same rows.
    private struct State: Equatable {
        var codes: [StrataError.Code?] = []
        /// The values of the cells: as each context shows them, and as they are in the store. First before main
        /// commits, then after it.
        var shown: [[[Int]]] = []
        var stored: [[[Int]]] = []
        /// The views of each article in the store, and whether its author is in the store.
        var articles: [[Int]] = []
        var unsaved: [Bool] = []
    }

    @Test("Commits through a parent with unsaved edits of the same rows do the same as one after the other")
    func parents() async throws {
        let shared = try await commitThroughParents(isSharing: true)
        let alone = try await commitThroughParents(isSharing: false)
        #expect(shared == alone)
        let codes: [StrataError.Code?] = [nil, nil, .conflict, nil]
        #expect(Array(shared.codes.prefix(4)) == codes)
        // Both articles, and once the author that main has inserted.
        #expect(shared.articles == [[1, 1], [2, 1], [1, 1]])
    }

    private func commitThroughParents(isSharing: Bool) async throws -> State {
        let store = try await SharingStore(.standard, isSharing: isSharing)
        let stack = store.stack
        let ids = try await store.cells(0..<4)
        // Main, two children of it, and one that meets the first child's changes.
        let (main, children) = (try stack[.main], try store.contexts(3))
        try await store.edit(ids[0], in: main, c: 9)
        try await store.edit(ids[1], in: main, a: 4)
        try await store.edit(ids[2], in: main, b: 5)
        let author = try await main.perform { $0.insert(Author(name: "unsaved")).id }
        for (index, child) in children.prefix(2).enumerated() {
            try await child.perform { context in
                let found = try context.find(author)
                context.insert(Article(title: "\(index)", views: index + 1, author: found))
            }
        }
        try await store.edit(ids[0], in: children[0], a: 1)
        try await store.edit(ids[1], in: children[0], a: 6)
        try await store.edit(ids[0], in: children[1], b: 2)
        try await children[1].perform { context in context.delete(try #require(try context.find(ids[2]))) }
        try await store.edit(ids[0], in: children[2], a: 3)
        let root = try stack[.root]
        try await store.edit(ids[3], in: root, a: 7, b: 7)

        let outcomes = try await store.commitTogether(children + [root])
        #expect(outcomes.transactions == (isSharing ? 1 : 4))
        var state = State(codes: outcomes.codes)
        state.stored.append(try store.stored())
        for handle in [root, main] + children {
            state.shown.append(try await cells(in: handle))
            state.unsaved.append(try await handle.perform { $0.hasChanges })
        }
        state.codes.append(try await store.commitTogether([main]).codes[0])
        state.stored.append(try store.stored())
        for handle in [root, main] + children { state.shown.append(try await cells(in: handle)) }
        state.articles = try plainRows(
            store.url,
            "SELECT views, author IN (SELECT id FROM Author) FROM Article ORDER BY views"
        )
        state.articles += try plainRows(store.url, "SELECT count(*), 1 FROM Author")
        try await stack.close()
        return state
    }

    private func cells(in handle: ContextHandle) async throws -> [[Int]] {
        try await handle.perform { context in
            try context.fetch(Cell.all).sorted { $0.id.rawValue < $1.id.rawValue }.map { [$0.a, $0.b, $0.c] }
        }
    }
}
