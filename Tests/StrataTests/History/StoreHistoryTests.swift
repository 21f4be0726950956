import Foundation
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

@Suite("The history in the store") struct StoreHistoryTests {
    private func open(
        _ url: URL,
        _ history: HistoryRetention = .standard,
        author: String? = nil
    ) async throws -> ContextStack {
        try await ContextStack.open(
            .sqlite(url),
            models: Bank.models,
            stack: .rootOnly,
            configuration: StoreConfiguration(synchronous: .normal, history: history),
            author: author
        )
    }

    private func commit(_ name: String, _ stack: ContextStack) async throws -> ObjectID<Account> {
        try await stack.background { context in
            let account = context.insert(Account(name: name, balance: 0))
            try context.commit()
            return account.id
        }
    }

    @Test("The history survives a restart, with authors and times, and continues from a token")
    func restart() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("store.sqlite")
        var stack = try await open(url, author: "first")
        let first = try await commit("a", stack)
        let token = stack.historyToken
        _ = try await commit("b", stack)
        try await stack.close()

        stack = try await open(url, author: "second")
        let kept = try #require(HistoryToken(token.description))
        #expect(kept == token)
        #expect(try JSONDecoder().decode([HistoryToken].self, from: JSONEncoder().encode([token])) == [token])
        let third = try await commit("c", stack)
        let history = try await stack.history()
        #expect(history.map(\.author) == ["first", "first", "second"])
        #expect(history[0].of(Account.self).inserted == [first])
        #expect(history.map(\.time) == history.map(\.time).sorted())
        let since = try await stack.history(since: kept)
        #expect(since.count == 2 && since[1].of(Account.self).inserted == [third])
        #expect(try await stack.history(since: kept, limit: 1).count == 1)
        #expect(try await stack.history(since: stack.historyToken).isEmpty)
        var changes = stack.changes(of: Account.self, since: kept).makeAsyncIterator()
        #expect(try await changes.next()?.token == since[0].token)
        #expect(try await changes.next()?.inserted == [third])
        try await stack.close()
    }

    @Test("A history that is too large is pruned; an older token is refused, and a newer one is valid")
    func pruningBySize() async throws {
        let folder = try ScratchFolder()
        let stack = try await open(folder.file("store.sqlite"), .limited(size: 500))
        var tokens: [HistoryToken] = []
        for index in 0..<200 {
            _ = try await commit("\(index)", stack)
            tokens.append(stack.historyToken)
        }
        let kept = try await stack.history()
        let size = kept.reduce(0) { $0 + $1.changes.encoded.count }
        #expect(kept.count < 100 && size < 500 + 64 * 20 && kept.last?.token == tokens.last)
        await #expect(throws: StrataError.self) { try await stack.history(since: tokens[0]) }
        var changes = stack.changes(since: tokens[0]).makeAsyncIterator()
        let error = await #expect(throws: StrataError.self) { try await changes.next() }
        #expect(error?.code == .expiredToken)
        #expect(try await stack.history(since: tokens[198]).count == 1)
        try await stack.close()
    }

    @Test(
        "Old and explicitly pruned entries are removed, and the newest sequence number always stays",
        .aboutTheFile("changes the history in the file")
    )
    func pruningByAge() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("store.sqlite")
        var stack = try await open(url, .limited(age: 3600))
        for index in 0..<63 { _ = try await commit("old \(index)", stack) }
        try await stack.close()
        try folder.sql(url, "UPDATE strata_history SET time = time - 7200")
        stack = try await open(url, .limited(age: 3600))
        for index in 0..<5 { _ = try await commit("new \(index)", stack) }
        #expect(try await stack.history().count == 5)
        let newest = stack.historyToken
        try await stack.pruneHistory(through: newest)
        #expect(try await stack.history().count <= 1)
        #expect(stack.historyToken == newest)
        _ = try await commit("later", stack)
        #expect(try await stack.history(since: newest).count == 1)
        try await stack.close()
    }

    @Test("With the history off nothing is kept, but followers get changes, and a program can switch it on and off")
    func off() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("store.sqlite")
        var stack = try await open(url, .off)
        let start = stack.historyToken
        var changes = stack.changes(of: Account.self).makeAsyncIterator()
        let id = try await commit("a", stack)
        #expect(try await changes.next()?.inserted == [id])
        #expect(try await stack.history().isEmpty)
        try await stack.close()
        stack = try await open(url)
        let second = try await commit("b", stack)
        let history = try await stack.history()
        #expect(history.map { $0.of(Account.self).inserted } == [[second]])
        await #expect(throws: StrataError.self) { try await stack.history(since: start) }
        try await stack.close()
        stack = try await open(url, .off)
        let third = try await commit("c", stack)
        #expect(try await stack.background { try $0.find(third)?.name } == "c")
        await #expect(throws: StrataError.self) { try await stack.history(since: history[0].token) }
        try await stack.close()
    }

    @Test("A token of another store is refused")
    func foreignToken() async throws {
        let (left, right) = (try await openStack(.rootOnly), try await openStack(.rootOnly))
        let token = left.historyToken
        let error = await #expect(throws: StrataError.self) { try await right.history(since: token) }
        #expect(error?.code == .expiredToken)
        var changes = right.changes(since: token).makeAsyncIterator()
        await #expect(throws: StrataError.self) { try await changes.next() }
        await #expect(throws: StrataError.self) { try await right.pruneHistory(through: token) }
        try await left.close()
        try await right.close()
    }

    @Test("A damaged entry is an error of the history alone", .aboutTheFile("changes the history in the file"))
    func damage() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("store.sqlite")
        var stack = try await open(url)
        let id = try await commit("a", stack)
        try await stack.close()
        try folder.sql(url, "UPDATE strata_history SET changes = x'0102' WHERE sequence = 1")
        stack = try await open(url)
        let error = await #expect(throws: StrataError.self) { try await stack.history() }
        #expect(error?.code == .damagedStore)
        #expect(try await stack.background { try $0.find(id)?.name } == "a")
        try await stack.close()
    }

    @Test("Commits of another process are reported and shown by objects of main without any call by the program")
    func otherProcess() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank(transfers: 0)
        let stack = try await openBank(url, setUp: .standard)
        let object = try await shown(stack)
        #expect(object == Bank.openingBalance)
        var changes = stack.changes(of: Account.self).makeAsyncIterator()
        let child = try HelperProcess("add", url.path, "1")
        // Thirty commits follow the one that creates the process's account.
        var told = 0
        while told < 31, let next = try await changes.next() {
            told += next.updated.isEmpty && next.inserted.isEmpty ? 0 : 1
        }
        #expect(told == 31)
        let isShown = try await eventually {
            try await MainActor.run { try stack.main.state[Watched.self]?.balance } == 1030
        }
        #expect(isShown)
        _ = await child.end()
        try await stack.close()
    }

    @MainActor private func shown(_ stack: ContextStack) throws -> Int? {
        let account = try stack.main.first(Account.where { $0.name == "account 0" })
        try stack.main.state[Watched.self] = account
        return account?.balance
    }

    private enum Watched: ContextStateKey { typealias Value = Account }
}
