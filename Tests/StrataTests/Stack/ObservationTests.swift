import Observation
import Synchronization
import Testing

@testable import Strata

/// Counts how often observers are notified.
final class Told: Sendable {
    private let state = Mutex(0)

    var count: Int { state.withLock { $0 } }

    /// Reads something, and is notified of its next change.
    func look(_ body: () throws -> Void) throws {
        try withObservationTracking {
            Result { try body() }
        } onChange: { [self] in
            state.withLock { $0 += 1 }
        }.get()
    }
}

@Suite("Observation", .timeLimit(.minutes(1)))
@MainActor
struct ObservationTests {
    private func until(_ condition: () -> Bool) async {
        while !condition(), !Task.isCancelled { await Task.yield() }
    }

    private func openWithArticle() async throws -> (ContextStack, Article) {
        let stack = try await openStack()
        let article = try stack.main.insert(Article(title: "One"))
        try await stack.commit(.main)
        return (stack, article)
    }

    @Test("An observer of a property is notified once of its next change, and not of changes of other properties")
    func own() async throws {
        let (stack, article) = try await openWithArticle()
        let told = Told()
        try told.look { _ = article.title }
        article.views = 1
        #expect(told.count == 0)
        article.title = "One"
        #expect(told.count == 0)
        article.title = "Two"
        #expect(told.count == 1)
        article.title = "Three"
        #expect(told.count == 1)
        try told.look { _ = article.snapshot }
        article.length = 3
        #expect(told.count == 2)
        try await stack.close()
    }

    @Test("A change may also notify observers of another object in the same bucket, and no others")
    func buckets() async throws {
        let stack = try await openStack()
        let context = try stack.main
        let articles = (0..<300).map { context.insert(Article(title: "\($0)")) }
        let told = Told()
        try told.look { _ = articles[7].title }
        for (index, article) in articles.enumerated() where index != 7 && index != 7 + 256 { article.title += "!" }
        #expect(told.count == 0)
        articles[7 + 256].title += "!"
        #expect(told.count == 1)
        try await stack.close()
    }

    @Test("Observers are notified of changes by others when the context shows these changes, all at once")
    func merged() async throws {
        let (stack, article) = try await openWithArticle()
        let told = Told()
        try told.look { _ = article.title }
        let id = article.id
        try await stack.background(parent: .named(.root)) { context in
            try context.find(id)?.title = "Theirs"
            try context.commit()
        }
        await until { told.count == 1 }
        #expect(article.title == "Theirs")
        try told.look { _ = article.title }
        try await stack.background { context in
            try context.find(id)?.views = 3
            try context.find(id)?.title = "Child's"
            try context.save()
        }
        await until { told.count == 2 }
        #expect(article.title == "Child's" && article.views == 3)
        try told.look { _ = article.isDeleted }
        try await stack.background { context in
            context.delete(try #require(try context.find(id)))
            try context.save()
        }
        await until { told.count == 3 }
        #expect(article.isDeleted)
        try await stack.close()
    }

    @Test("Observers are notified of changes of an object that the context no longer keeps")
    func unheld() async throws {
        let stack = try await openStack()
        let context = try stack.main
        let id = try await stack.background(parent: .named(.root)) { context in
            for number in 0..<2000 { context.insert(Article(title: "\(number)")) }
            let id = context.insert(Article(title: "One")).id
            try context.commit()
            return id
        }
        // With more than 1,024 objects, the context drops those that no other code holds.
        #expect(try context.fetch(Article.all).count == 2001)
        let (told, toldOther) = (Told(), Told())
        try told.look { _ = try context.find(id)?.title }
        try toldOther.look { _ = try context.find(id)?.views }
        await until { context.live.identity.count == 0 }
        try await stack.background(parent: .named(.root)) { context in
            try context.find(id)?.title = "Theirs"
            try context.commit()
        }
        await until { told.count == 1 }
        #expect(toldOther.count == 0)

        try told.look { _ = try context.find(id)?.isDeleted }
        try await stack.background { context in
            context.delete(try #require(try context.find(id)))
            try context.save()
        }
        await until { told.count == 2 }
        try await stack.close()
    }

    @Test("An observable private context notifies at its next block, also of an object that it no longer keeps")
    func unheldInPrivate() async throws {
        let stack = try await openStack()
        let context = try stack.create(.private, parent: .named(.root), observable: true)
        let id = try await context.perform { context in
            let id = context.insert(Article(title: "One")).id
            try context.commit()
            return id
        }
        for commits in [1, 100] {
            let told = Told()
            try await context.perform { context in try told.look { _ = try context.find(id)?.title } }
            for _ in 0..<commits {
                try await stack.background(parent: .named(.root)) { context in
                    try context.find(id)?.title += "!"
                    try context.commit()
                }
            }
            #expect(told.count == 0)
            try await context.perform { _ in #expect(told.count == 1) }
        }
        try await stack.close()
    }

    @Test("An observer of changes by others finds the context consistent, and may edit it")
    func reentrant() async throws {
        let (stack, article) = try await openWithArticle()
        let other = try stack.main.insert(Article(title: "Other"))
        try await stack.commit(.main)
        let ids = [article.id, other.id]
        let seen = Mutex<[String]>([])
        nonisolated(unsafe) let objects = (article, other)  // onChange is called on the main actor, where they belong
        withObservationTracking {
            _ = article.title
        } onChange: {
            seen.withLock { $0 = [objects.0.title, objects.1.title] }
            objects.1.views += 1
        }
        try await stack.background(parent: .named(.root)) { context in
            for id in ids { try context.find(id)?.title += "!" }
            try context.commit()
        }
        await until { seen.withLock { !$0.isEmpty } }
        #expect(seen.withLock { $0 } == ["One!", "Other!"])
        try await stack.commit(.main)
        #expect(try await stack.on(.root) { try $0.find(ids[1])?.views } == 1)
        try await stack.close()
    }

    @Test("Observers of a relationship are notified of its changes, made here or elsewhere, on both sides")
    func relationships() async throws {
        let (stack, article) = try await openWithArticle()
        let context = try stack.main
        let author = context.insert(Author(name: "A"))
        let other = context.insert(Author(name: "B"))
        try await stack.commit(.main)
        let (told, toldOther) = (Told(), Told())
        try told.look { _ = article.author }
        article.author = other
        #expect(told.count == 1)
        try await stack.commit(.main)

        // The article moves from one author to the other. Both observers are notified at the end of the turn.
        try told.look { _ = try author.articles.count }
        try toldOther.look { _ = try other.articles.fetch() }
        article.author = author
        #expect(told.count == 1 && toldOther.count == 0)
        await until { told.count == 2 && toldOther.count == 1 }
        try await stack.commit(.main)

        // A change of a member's attribute does not count as a change of the members.
        try told.look { _ = try author.articles.where { $0.views >= 0 }.first }
        article.views += 1
        try await stack.commit(.main)
        #expect(told.count == 2)
        let (id, writer) = (article.id, author.id)
        try await stack.background(parent: .named(.root)) { context in
            context.insert(Article(title: "New", author: try context.find(writer)))
            try context.commit()
        }
        await until { told.count == 3 }
        try told.look { _ = try author.articles.isEmpty }
        try await stack.background(parent: .named(.root)) { context in
            context.delete(try #require(try context.find(id)))
            try context.commit()
        }
        await until { told.count == 4 }

        let writerA = context.insert(Writer(name: "W"))
        let spouse = context.insert(Spouse(name: "S"))
        try told.look { _ = try spouse.writers.count }
        writerA.spouses.insert(spouse)
        await until { told.count == 5 }
        try await stack.close()
    }

    @Test("Observers are notified of deletes and rollbacks, and of changes of hasChanges")
    func pending() async throws {
        let (stack, article) = try await openWithArticle()
        let context = try stack.main
        let (told, changes, changed) = (Told(), Told(), Told())
        try changes.look { _ = context.hasChanges }
        try changed.look { _ = article.hasChanges }
        article.title = "Two"
        await until { changes.count == 1 && changed.count == 1 }
        #expect(context.hasChanges && article.hasChanges)
        try changes.look { _ = context.hasChanges }
        try await stack.commit(.main)
        await until { changes.count == 2 }
        #expect(!context.hasChanges)

        article.title = "Three"
        try told.look { _ = article.title }
        context.rollback()
        #expect(told.count == 1 && article.title == "Two")
        try told.look { _ = article.isDeleted }
        context.delete(article)
        #expect(told.count == 2)
        try told.look { _ = article.isDeleted }
        context.rollback()
        #expect(told.count == 3 && !article.isDeleted)
        try await stack.close()
    }

    @Test("Observations yields the current state and each later one")
    func sequence() async throws {
        let (stack, article) = try await openWithArticle()
        nonisolated(unsafe) let object = article  // looked at on the main actor, where it belongs
        let titles = Observations { object.title }
        var iterator = titles.makeAsyncIterator()
        var found: [String] = []
        while found.count < 3, let title = await iterator.next() {
            found.append(title)
            article.title = "\(found.count)"
        }
        #expect(found == ["One", "1", "2"])
        try await stack.close()
    }

    @Test("A private context notifies observers only if it was created as observable")
    func privates() async throws {
        let (stack, _) = try await openWithArticle()
        let plain = try stack.create(.private)
        let observable = try stack.create(.private, observable: true)
        let isMainObservable = try stack[.main].isObservable
        #expect(!plain.isObservable && observable.isObservable && isMainObservable)
        for (handle, expected) in [(plain, 0), (observable, 1)] {
            let count = try await handle.perform { context in
                let article = try #require(try context.first(Article.all))
                #expect((context.observers != nil) == (expected == 1))
                let told = Told()
                try told.look { _ = article.title }
                article.title = "Two"
                return told.count
            }
            #expect(count == expected)
        }
        try await stack.close()
    }

    @Test("An object's state takes 8 bytes, and models are Observable")
    func size() {
        #expect(MemoryLayout<ObjectState>.size == 8)
        func isObservable(_ type: any Observable.Type) -> Bool { true }
        #expect(isObservable(Article.self))
    }
}
