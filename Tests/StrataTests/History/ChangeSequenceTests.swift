import Foundation
import StoreModels
import Testing

@testable import Strata

@Suite("The sequence of committed changes") struct ChangeSequenceTests {
    @Test("Changes have values with ids, kinds and columns, in the order of commits")
    func kinds() async throws {
        let stack = try await openStack(.rootOnly)
        var articles = stack.changes(of: Article.self).makeAsyncIterator()
        var authors = stack.changes(of: Author.self).makeAsyncIterator()
        let (author, article) = try await stack.on(.root) { context in
            context.author = "importer"
            let author = context.insert(Author(name: "Ursula"))
            let article = context.insert(Article(title: "Hand", author: author))
            try context.commit()
            article.views += 1
            article.title = "The Hand"
            try context.commit()
            author.name = "Ursula K."
            try context.commit()
            context.delete(author)
            try context.commit()
            return (author.id, article.id)
        }
        let first = try #require(try await articles.next())
        #expect(first.inserted == [article] && first.updated.isEmpty && first.deleted.isEmpty)
        #expect(first.author == "importer" && abs(first.time.timeIntervalSinceNow) < 100)
        let second = try #require(try await articles.next())
        #expect(second.inserted.isEmpty && second.updated == [article])
        #expect(second.updatedColumns(of: article) == ["title", "views"])
        #expect(second.updated(\.views) == [article] && second.updated(\.body).isEmpty)
        // The third commit concerns authors only.
        let third = try #require(try await articles.next())
        #expect(third.deleted == [article])
        #expect(first.token < second.token && second.token < third.token)
        #expect(try await authors.next()?.inserted == [author])
        #expect(try await authors.next()?.updated(\.name) == [author])
        #expect(try await authors.next()?.deleted == [author])
        try await stack.close()
        #expect(try await articles.next() == nil)
    }

    @Test("A change that is saved from context to context is reported once, when it is committed")
    func saves() async throws {
        let stack = try await openStack(.rootOnly)
        var changes = stack.changes(of: Author.self).makeAsyncIterator()
        let id = try await stack.background { context in
            let author = context.insert(Author(name: "a"))
            try context.save()
            author.name = "b"
            try context.save()
            return author.id
        }
        let token = stack.historyToken
        try await stack.on(.root) { try $0.commit() }
        let told = try #require(try await changes.next())
        #expect(told.inserted == [id] && told.updated.isEmpty)
        #expect(stack.historyToken > token && told.token == stack.historyToken)
        try await stack.close()
    }

    @Test("Changed members of relationships count as changes of their owners")
    func members() async throws {
        let stack = try await openStack(.rootOnly)
        let (writer, spouse) = try await stack.on(.root) { context in
            let (writer, spouse) = (context.insert(Writer(name: "w")), context.insert(Spouse(name: "s")))
            try context.commit()
            return (writer.id, spouse.id)
        }
        var changes = stack.changes().makeAsyncIterator()
        try await stack.background { context in
            try context.find(writer)?.spouses.insert(try #require(try context.find(spouse)))
            try context.commit()
        }
        let told = try #require(try await changes.next())
        #expect(told.of(Writer.self).updatedColumns(of: writer) == ["spouses"])
        #expect(told.of(Spouse.self).updatedColumns(of: spouse) == ["writers"])
        #expect(!told.contains(Article.self) && told.of(Article.self).isEmpty)
        try await stack.close()
    }

    @Test("A slow follower misses nothing and gets nothing twice, regardless of which context commits")
    func slowFollower() async throws {
        let stack = try await openStack(.rootOnly)
        let begun = stack.changes(of: Author.self)
        let commits = 700
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    for index in 0..<(commits / 4) {
                        try await stack.background(parent: .named(.root)) { context in
                            context.insert(Author(name: "\(worker) \(index)"))
                            try context.commit()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        var ids: [ObjectID<Author>] = []
        var last: HistoryToken?
        for try await changes in begun {
            #expect(last.map { $0 < changes.token } ?? true)
            last = changes.token
            ids += changes.inserted
            if ids.count == commits { break }
        }
        #expect(ids.count == commits && Set(ids).count == commits)
        let stored = try await stack.background { try $0.ids(Author.all) }
        #expect(Set(stored) == Set(ids))
        // A late follower, from a token in the middle on.
        let middle = try await stack.history(limit: 300).last?.token
        var late: [ObjectID<Author>] = []
        for try await changes in stack.changes(of: Author.self, since: middle) {
            late += changes.inserted
            if changes.token == last { break }
        }
        #expect(late == Array(ids[300...]))
        try await stack.close()
    }

    @Test("A commit wakes a waiting follower, which ends with its task or with the stack")
    func waiting() async throws {
        let stack = try await openStack(.rootOnly)
        let sequence = stack.changes()
        let waiting = Task { try await sequence.first { $0.contains(Author.self) }?.author }
        let cancelled = Task { try await sequence.first { _ in false } == nil }
        let ended = Task { try await sequence.first { _ in false } == nil }
        try await stack.on(.root) { context in
            context.author = "me"
            context.insert(Author(name: "a"))
            try context.commit()
        }
        #expect(try await waiting.value == "me")
        cancelled.cancel()
        #expect(try await cancelled.value)
        try await stack.close()
        #expect(try await ended.value)
    }

    @Test("A failed commit is not reported")
    func failures() async throws {
        let stack = try await openStack(.rootOnly)
        var changes = stack.changes().makeAsyncIterator()
        try await stack.on(.root) { context in
            let writer = context.insert(Writer(name: ""))
            #expect(throws: StrataError.self) { try context.commit() }
            writer.name = "w"
            try context.commit()
        }
        #expect(try await changes.next()?.of(Writer.self).inserted.count == 1)
        #expect(try await stack.history().count == 1)
        try await stack.close()
    }

    @Test("A commit that deletes objects which another commit has already deleted does not report them")
    func deletedTwice() async throws {
        let stack = try await openStack(.rootOnly)
        for name in [ContextName.network, .other] { try stack.create(.private, named: name) }
        try await stack.on(.root) { context in
            let writer = context.insert(Writer(name: "w"))
            writer.spouses.insert(context.insert(Spouse(name: "s")))
            context.insert(Author(name: "a"))
            try context.commit()
        }
        var changes = stack.changes().makeAsyncIterator()
        for name in [ContextName.network, .other] {
            try await stack.on(name) { context in
                try context.fetch(Writer.all).forEach(context.delete)
                if name == .other { try context.fetch(Author.all).forEach(context.delete) }
            }
        }
        for name in [ContextName.network, .other] { try await stack.commit(name) }
        #expect(try await changes.next()?.tables == ["Spouse", "Writer"])
        #expect(try await changes.next()?.tables == ["Author"])
        try await stack.close()
    }

    @Test("A follower that has found a commit in the file waits until the stack knows of it")
    func ahead() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let (left, right) = (try await openBank(url), try await openBank(url))
        _ = try await right.on(.root) { try Bank.transfer(1, in: $0) }
        let token = right.historyToken
        // The moment between the COMMIT of this stack and the end of its commit call.
        let record = CommitRecord(sequence: token.sequence, rows: [:])
        left.core.engine.layers.announce([record])
        let following = Task { try await left.changes(since: token).first { _ in true }?.token }
        let isTaken = try await eventually(within: 0.1) { left.historyToken >= token }
        #expect(!isTaken)
        left.core.engine.layers.withdraw()
        _ = try await right.on(.root) { try Bank.transfer(1, in: $0) }
        #expect(try await following.value == right.historyToken)
        try await left.close()
        try await right.close()
    }
}
