import Foundation
import StoreModels
import Synchronization
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Failures of commits that share a transaction", .serialized, .timeLimit(.minutes(5)))
struct FailedSharedCommitTests {
    @Test(
        "A commit that fails gets its own error and keeps its changes, and the other commits are written",
        .aboutTheFile("counts transactions, and a failed commit is repeated with the lock of a home")
    )
    func failures() async throws {
        let store = try await SharingStore()
        let stack = store.stack
        let cell = try await store.cells(0..<1)[0]
        let (range, author) = try await stack.on(.root) { context in
            let (range, author) = (context.insert(Range2(low: 1, high: 10)), context.insert(Author(name: "gone")))
            try context.commit()
            return (range.id, author.id)
        }
        let contexts = try store.contexts(9)
        try await store.edit(cell, in: contexts[0], a: 1)
        try await store.edit(cell, in: contexts[1], a: 2, c: 2)
        try await contexts[2].perform { try #require(try $0.find(range)).low = 8 }
        try await contexts[3].perform { try #require(try $0.find(range)).high = 5 }
        try await contexts[4].perform { _ = $0.insert(Article(slug: "s", title: "first")) }
        let second = try await contexts[5].perform { $0.insert(Article(slug: "s", title: "second")).id }
        try await contexts[6].perform { context in context.delete(try #require(try context.find(author))) }
        let orphan = try await contexts[7].perform { context in
            let found = try context.find(author)
            return context.insert(Article(title: "orphan", author: found)).id
        }
        try await store.edit(cell, in: contexts[8], b: 3)

        let token = stack.historyToken
        let outcomes = try await store.commitTogether(contexts)
        let codes: [StrataError.Code?] = [
            nil, .conflict, nil, .validation, nil, .notUnique, nil, .missingReference, nil,
        ]
        #expect(outcomes.codes == codes)
        #expect(outcomes.commits[1] == .conflict(cell, "a"))
        #expect(outcomes.commits[5].places == ["\(second.rawValue).slug"])
        #expect(outcomes.commits[7].places == ["\(orphan.rawValue).author"])
        #expect(outcomes.transactions == 1)
        #expect(try store.stored() == [[1, 3, 0]])
        #expect(try plainRows(store.url, "SELECT low, high FROM Range2") == [[8, 10]])
        #expect(try plainRows(store.url, "SELECT count(*) FROM Article") == [[1]])
        #expect(try plainRows(store.url, "SELECT count(*) FROM Author") == [[0]])
        // Failed commits use no numbers.
        let history = try await stack.history(since: token)
        let numbers = (1...Int64(5)).map { token.sequence + $0 }
        #expect(history.map(\.token.sequence) == numbers && stack.historyToken.sequence == numbers.last)

        for (index, handle) in contexts.enumerated() {
            let hasChanges = try await handle.perform { $0.hasChanges }
            #expect(hasChanges == (codes[index] != nil), "context \(index)")
        }
        #expect(try await store.values(cell, in: contexts[1]) == [2, 3, 2])
        // Each context can repair its changes and commit them.
        try await contexts[1].perform { $0.mergePolicy = .mine }
        try await contexts[3].perform { context in
            let found = try #require(try context.find(range))
            #expect(found.low == 8 && found.high == 5)
            found.high = 9
        }
        try await contexts[5].perform { try #require(try $0.find(second)).slug = "t" }
        try await contexts[7].perform { try #require(try $0.find(orphan)).author = nil }
        let repaired = try await store.commitTogether([contexts[1], contexts[3], contexts[5], contexts[7]])
        #expect(repaired.haveSucceeded && repaired.transactions == 1, "\(repaired.commits)")
        #expect(try store.stored() == [[2, 3, 2]])
        #expect(try plainRows(store.url, "SELECT low, high FROM Range2") == [[8, 9]])
        #expect(try plainRows(store.url, "SELECT count(*), count(slug), count(author) FROM Article") == [[3, 2, 0]])
        for handle in contexts { #expect(try await handle.perform { !$0.hasChanges }) }
        try await stack.close()
    }

    @Test(
        "If the first commit of a transaction fails, the next one begins another transaction",
        .aboutTheFile("counts transactions, and a failed commit is repeated with the lock of a home")
    )
    func first() async throws {
        let store = try await SharingStore()
        let ids = try await store.cells(0..<3)
        let contexts = try store.contexts(3)
        for (id, handle) in zip(ids, contexts) { try await store.edit(id, in: handle, b: 1) }
        try await store.stack.background { context in
            try #require(try context.find(ids[0])).b = 9
            try context.commit()
        }
        let outcomes = try await store.commitTogether(contexts)
        let commits: [SaveOutcome] = [.conflict(ids[0], "b"), .success, .success]
        #expect(outcomes.commits == commits && outcomes.transactions == 2)
        #expect(try store.stored() == [[0, 9, 0], [1, 1, 0], [2, 1, 0]])
        try await store.stack.close()
    }

    @Test(
        "If the transaction fails, a commit that had failed before gets the reason of the transaction's failure",
        .aboutTheFile("fills the disk of the file"),
        .enabled(if: SmallDisk.isAllowed, "needs the right to mount a file system")
    )
    func failureAfterFailure() async throws {
        let disk = try SmallDisk(size: "8m")
        let store = try await SharingStore(in: disk.folder)
        let id = try await store.cells(0..<1)[0]
        let contexts = try store.contexts(2)
        let long = String(repeating: "long ", count: 60_000)
        try await store.edit(id, in: contexts[0], a: 1)
        try await contexts[0].perform { _ = $0.insert(Author(name: long)) }
        try await store.edit(id, in: contexts[1], a: 2)
        try disk.fill(leaving: 8192)
        // The second commit conflicts with values of the first one, which are then not stored.
        let outcomes = try await store.commitTogether(contexts)
        let codes: [StrataError.Code?] = [.diskFull, .diskFull]
        #expect(outcomes.codes == codes && outcomes.transactions == 1)
        #expect(try store.stored() == [[0, 0, 0]])
        try await store.stack.close()
    }

    @Test(
        "A COMMIT that fails on a full disk fails all commits of the transaction, which succeed once there is room",
        .aboutTheFile("fills the disk of the file"),
        .enabled(if: SmallDisk.isAllowed, "needs the right to mount a file system")
    )
    func fullDisk() async throws {
        let disk = try SmallDisk(size: "8m")
        let store = try await SharingStore(.standard, in: disk.folder)
        let stack = store.stack
        let ids = try await store.cells(0..<4)
        let contexts = try store.contexts(4)
        let long = String(repeating: "long ", count: 60_000)
        let main = try stack[.main]
        try await store.edit(ids[0], in: main, c: 7)
        for (index, handle) in contexts.enumerated() {
            try await store.edit(ids[0], in: handle, a: 1)
            try await store.edit(ids[index], in: handle, b: 2)
            try await handle.perform { _ = $0.insert(Author(name: long)) }
        }
        let token = stack.historyToken
        let before = try await state(of: store, ids, contexts)
        try disk.fill(leaving: 8192)
        for _ in 0..<2 {
            let outcomes = try await store.commitTogether(contexts)
            let codes: [StrataError.Code?] = [.diskFull, .diskFull, .diskFull, .diskFull]
            #expect(outcomes.codes == codes)
            // No commit of the transaction failed before COMMIT.
            #expect(outcomes.transactions == 1)
            #expect(stack.historyToken == token)
            #expect(try store.stored() == [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
            #expect(try plainRows(store.url, "SELECT count(*) FROM Author") == [[0]])
            let after = try await state(of: store, ids, contexts)
            #expect(after == before)
        }
        try disk.free()
        let outcomes = try await store.commitTogether(contexts)
        #expect(outcomes.haveSucceeded && outcomes.transactions == 1, "\(outcomes.commits)")
        #expect(stack.historyToken.sequence == token.sequence + 4)
        #expect(try store.stored() == [[1, 2, 0], [1, 2, 0], [2, 2, 0], [3, 2, 0]])
        #expect(try plainRows(store.url, "SELECT count(*) FROM Author") == [[4]])
        for handle in contexts { #expect(try await handle.perform { !$0.hasChanges }) }
        #expect(try await store.values(ids[0], in: main) == [1, 2, 7])
        try await stack.close()
    }

    /// The values of the cells, and the number of authors with long names, as each context and main show them.
    private func state(
        of store: SharingStore,
        _ ids: [ObjectID<Cell>],
        _ contexts: [ContextHandle]
    ) async throws -> [[Int]] {
        var state: [[Int]] = []
        let main = try store.stack[.main]
        for handle in contexts + [main] {
            state.append(
                try await handle.perform { context in
                    let authors = try context.count(Author.where { $0.name.hasPrefix("long") })
                    var row = [context.hasChanges ? 1 : 0, authors]
                    for id in ids {
                        let cell = try #require(try context.find(id))
                        row += [cell.a, cell.b, cell.c]
                    }
                    return row
                }
            )
        }
        return state
    }

    // MARK: Commits inside a commit

    /// A model whose validation runs a test's code in the middle of a transaction.
    @Model final class Watched {
        var number: Int
        var note: Int = 0

        static func validate(_ row: Row, _ failures: inout Validation<Watched>) {
            Code.current.withLock { $0 }?()
        }

        enum Code {
            static let current = Mutex<(@Sendable () -> Void)?>(nil)
        }
    }

    @Test(
        "A commit or batch by code that runs in a commit is refused, whichever commit of a transaction runs the code",
        arguments: [true, false]
    )
    func nested(isSharing: Bool) async throws {
        let store = try await SharingStore(models: [Watched.self], isSharing: isSharing)
        let stack = store.stack
        let ids = try await stack.on(.root) { context in
            let objects = (0..<2).map { context.insert(Watched(number: $0)) }
            try context.commit()
            return objects.map(\.id)
        }
        let contexts = try store.contexts(2)
        for (id, handle) in zip(ids, contexts) {
            try await handle.perform { try #require(try $0.find(id)).number = 5 }
            // So each commit asks its policy.
            try await stack.background { context in
                try #require(try context.find(id)).number = 9
                try context.commit()
            }
        }
        // The code uses this context in spite of the rules. No other code uses the context meanwhile.
        let spare = try stack.create(.private)
        let context = try await spare.perform { context in
            context.insert(Watched(number: 100))
            return Exclusive(context)
        }
        let journal = Journal()
        let isRunning = Mutex(false)
        let refuse: @Sendable (String) -> Void = { place in
            // The refused commit validates its rows first.
            let wasRunning = isRunning.withLock { running in
                defer { running = true }
                return running
            }
            if wasRunning { return }
            defer { isRunning.withLock { $0 = false } }
            let commit = SaveOutcome { try context.use { try $0.commit() } }
            let batch = SaveOutcome { try context.use { _ = try $0.batchUpdate(Watched.all) { $0.note.set(to: 1) } } }
            for outcome in [commit, batch] {
                let isNested = outcome.error?.message.contains("This thread is writing commits") == true
                journal.add("\(place) \(outcome.code?.description ?? "success") \(isNested)")
            }
        }
        for handle in contexts {
            try await handle.perform { context in
                context.mergePolicy = .custom { _ in
                    refuse("policy")
                    return .mine
                }
            }
        }
        // Rows are also validated before the transaction.
        let engine = stack.core.engine
        Watched.Code.current.withLock { $0 = { if engine.isOnLeadingThread { refuse("validation") } } }
        let outcomes = try await store.commitTogether(contexts)
        Watched.Code.current.withLock { $0 = nil }
        #expect(outcomes.haveSucceeded && outcomes.transactions == (isSharing ? 1 : 2), "\(outcomes.commits)")
        // Each of the two commits asks its policy at least once, and so each refuses at least two calls there.
        let lines = journal.all
        #expect(Set(lines) == ["policy invalidState true", "validation invalidState true"], "\(lines)")
        #expect(lines.filter { $0.hasPrefix("policy") }.count >= 4)
        #expect(try plainRows(store.url, "SELECT number, note FROM Watched ORDER BY id") == [[5, 0], [5, 0]])
        // The refused commit has lost nothing, and the thread can commit again.
        try await spare.perform { try $0.commit() }
        #expect(try plainRows(store.url, "SELECT number FROM Watched ORDER BY id") == [[5], [5], [100]])
        try await stack.close()
    }
}
