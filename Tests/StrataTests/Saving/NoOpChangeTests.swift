import Foundation
import Strata
import Testing

@Suite("Values that are set back") struct NoOpChangeTests {
    private enum Way: CaseIterable { case save, commit }

    private func article(_ context: ObjectContext) throws -> Article {
        try #require(try context.first(Article.where { $0.body == "body" }))
    }

    /// A committed article, and a context over the root.
    private func open() async throws -> (stack: ContextStack, child: ContextHandle) {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            context.insert(Article(title: "a", body: "body", views: 1))
            try context.commit()
        }
        return (stack, try stack.create(.private, named: "child"))
    }

    /// Sets the title and sets it back. A query between both edits puts the first edit into the layer.
    private func setAndSetBack(_ article: Article, _ context: ObjectContext) throws {
        article.title = "b"
        _ = try context.count(Article.all)
        article.title = "a"
    }

    @Test(
        "Others' edits of a column that was set back do not conflict, and stay",
        arguments: Way.allCases,
        [MergePolicy.error, .mine]
    )
    private func others(way: Way, policy: MergePolicy) async throws {
        let (stack, child) = try await open()
        try await child.perform { context in
            let article = try article(context)
            try setAndSetBack(article, context)
            article.views = 2
        }
        try await stack.background(parent: .named(.root)) { context in
            try article(context).title = "theirs"
            if way == .save { try context.save() } else { try context.commit() }
        }
        try await child.perform { context in
            let article = try article(context)
            // Until the save, the object shows the value that was set here.
            #expect(article.title == "a")
            context.mergePolicy = policy
            if way == .save { try context.save() } else { try context.commit() }
            #expect(article.title == "theirs" && article.views == 2)
        }
        try await stack.commit(.root)
        let stored = try await stack.background { try $0.rows(Article.all) }
        #expect(stored.map(\.title) == ["theirs"] && stored.map(\.views) == [2])
        try await stack.close()
    }

    @Test("A commit writes nothing if all its edits were set back")
    func nothing() async throws {
        let (stack, child) = try await open()
        let token = stack.historyToken
        try await child.perform { context in
            context.undoLevels = 1
            let article = try article(context)
            for _ in 0..<2 {
                try setAndSetBack(article, context)
                try context.commit()
            }
            context.undoGroup { article.views = 5 }
            try context.undo()
            try context.save()
            #expect(context.updatedObjects(Article.self).isEmpty)
        }
        try await stack.commit(.root)
        #expect(try await stack.history(since: token).isEmpty)
        try await stack.close()
    }

    @Test("The history names only the columns that have changed in the end")
    func history() async throws {
        let (stack, child) = try await open()
        let token = stack.historyToken
        try await child.perform { context in
            let article = try article(context)
            try setAndSetBack(article, context)
            article.views = 2
            try context.save()
            try setAndSetBack(article, context)
            article.views = 3
            try context.save()
        }
        try await stack.commit(.root)
        let entries = try await stack.history(since: token)
        let changes = entries.map { $0.of(Article.self) }
        #expect(changes.map { $0.updated.map(changes[0].updatedColumns) } == [[["views"]]])
        try await stack.close()
    }

    @Test("A value that is set back changes no timestamp, and removes the timestamp that a refused save has set")
    func timestamp() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            let object = context.insert(Timestamp(label: "a"))
            try context.commit()
            let updated = try #require(object.updatedAt)
            object.label = "b"
            _ = try context.count(Timestamp.all)
            let twins = [0, 1].map { _ in context.insert(Article(title: "twin", body: "twin")) }
            #expect(throws: StrataError.self) { try context.commit() }
            #expect(object.updatedAt != updated)
            context.rollback(twins)
            object.label = "a"
            try context.commit()
            #expect(object.updatedAt == updated)
        }
        try await stack.close()
    }

    @Test("A value set in one context and set back in another one still counts, because each may commit separately")
    func twoContexts() async throws {
        let (stack, child) = try await open()
        try await child.perform { context in
            try article(context).title = "b"
            try context.save()
        }
        try await stack.on(.root) { try article($0).title = "a" }
        _ = try await stack.background { try $0.batchUpdate(Article.all) { $0.title.set(to: "theirs") } }
        let error = await #expect(throws: StrataError.self) { try await stack.commit(.root) }
        #expect(error?.code == .conflict && error?.details.map(\.column) == ["title"])
        try await stack.close()
    }

    @Test(
        "A value that is set back does not bring back an object that others have deleted, even with .mine",
        arguments: Way.allCases
    )
    private func deletedElsewhere(way: Way) async throws {
        let (stack, child) = try await open()
        try await child.perform { context in try setAndSetBack(try article(context), context) }
        try await stack.background(parent: .named(.root)) { context in
            context.delete(try article(context))
            if way == .save { try context.save() } else { try context.commit() }
        }
        try await child.perform { context in
            context.mergePolicy = .mine
            if way == .save { try context.save() } else { try context.commit() }
            #expect(try context.count(Article.all) == 0)
        }
        try await stack.commit(.root)
        let count = try await stack.background { try $0.count(Article.all) }
        #expect(count == 0)
        try await stack.close()
    }

    @Test("A savepoint that saves and throws also restores the edit that was set back in it")
    func savepoint() async throws {
        struct TakenBack: Error {}
        let (stack, child) = try await open()
        try await child.perform { context in
            let article = try article(context)
            article.title = "b"
            #expect(throws: TakenBack.self) {
                try context.savepoint {
                    article.title = "a"
                    try context.save()
                    throw TakenBack()
                }
            }
            #expect(article.title == "b")
            #expect(article.changedValues.keys.sorted() == ["title"])
            try context.commit()
        }
        let titles = try await stack.background { try $0.rows(Article.all) }.map(\.title)
        #expect(titles == ["b"])
        try await stack.close()
    }

    @Test("After a refused save, an object shows others' value in a column that was set back")
    func refused() async throws {
        let (stack, child) = try await open()
        try await child.perform { context in
            let article = try article(context)
            try setAndSetBack(article, context)
            article.views = 2
        }
        try await stack.background(parent: .named(.root)) { context in
            let article = try article(context)
            (article.title, article.views) = ("theirs", 3)
            try context.save()
        }
        try await child.perform { context in
            let article = try article(context)
            let error = #expect(throws: StrataError.self) { try context.save() }
            #expect(error?.code == .conflict && error?.details.map(\.column) == ["views"])
            #expect(article.title == "theirs" && article.views == 2)
            #expect(article.changedValues.keys.sorted() == ["views"])
        }
        try await stack.close()
    }
}
