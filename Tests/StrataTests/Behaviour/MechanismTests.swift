import Foundation
import Testing

@testable import Strata

@Suite("Mechanisms of the data layer", .timeLimit(.minutes(1)))
struct MechanismTests {
    /// A committed article of a committed author, and a named worker.
    private nonisolated(nonsending) func withArticle(
        _ body: nonisolated(nonsending) (ContextStack, ObjectID<Article>, ObjectID<Author>) async throws -> Void
    ) async throws {
        try await withStack(.memory) { stack in
            let (article, author) = try await stack.background { context in
                let author = context.insert(Author(name: "a"))
                let article = context.insert(Article(title: "t", author: author))
                try context.commit()
                return (article.id, author.id)
            }
            try stack.create(.private, named: .network)
            try await body(stack, article, author)
        }
    }

    @Test(
        "A block reads one moment, and commits by others in the meantime show in the next block",
        arguments: StoreKind.allCases
    )
    func oneMoment(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            try stack.create(.private, named: .network)
            let (inside, go) = (Signal(), Signal())
            let reading = Task.detached {
                try await stack.on(.network) { context in
                    let before = try context.count(Author.all)
                    inside.set()
                    await go.wait()
                    return (before, try context.count(Author.all), try context.fetch(Author.all).count)
                }
            }
            await inside.wait()
            try await stack.background(parent: .named(.root)) { context in
                context.insert(Author(name: "a"))
                try context.commit()
            }
            go.set()
            #expect(try await reading.value == (0, 0, 0))
            #expect(try await stack.on(.network) { try $0.count(Author.all) } == 1)
        }
    }

    @Test("Main can be edited while its commit writes, and keeps the edits that the commit did not take")
    func inFlight() async throws {
        let folder = try StoreFolder()
        let stack = try await ContextStack.open(folder.location, models: allModels)
        let id = try await stack.on(.main) { $0.insert(Author(name: "first")).id }
        let disk = try DiskLock(folder.file)
        let commit = Task.detached { try await stack.commit(.main) }
        let commitMutex = try stack[.main].owner.commitMutex
        while commitMutex.holder == nil, !Task.isCancelled { await Task.yield() }
        try await stack.on(.main) { context in
            let author = try #require(try context.find(id))
            author.name = "second"
            #expect(try context.fetch(Author.all).map(\.name) == ["second"])
        }
        try disk.release()
        try await commit.value
        #expect(try await stack.on(.root) { try $0.find(id)?.name } == "first")
        #expect(try await stack.on(.main) { $0.hasChanges })
        #expect(try await stack.on(.main) { try $0.find(id)?.name } == "second")
        try await stack.commit(.main)
        #expect(try await stack.on(.root) { try $0.find(id)?.name } == "second")
        try await stack.close()
    }

    @Test("A parent's unsaved edit lets another context commit, and conflicts at the parent's own commit")
    func parentsEdit() async throws {
        try await withArticle { stack, id, _ in
            try await stack.on(.main) { try #require(try $0.find(id)).title = "main's" }
            try await stack.background(parent: .named(.root)) { context in
                try #require(try context.find(id)).title = "worker's"
                try context.commit()
            }
            #expect(try await stack.on(.main) { try $0.find(id)?.title } == "main's")
            await expect(.conflict) { try await stack.commit(.main) }
            try await stack.on(.main) { context in
                context.mergePolicy = .mine
                try context.save()
            }
            #expect(try await stack.on(.root) { try $0.find(id)?.title } == "main's")
        }
    }

    @Test("After a commit, columns that a parent has not edited take the new values")
    func uneditedColumns() async throws {
        try await withArticle { stack, id, _ in
            try await stack.on(.main) { try #require(try $0.find(id)).title = "main's" }
            try await stack.background { context in
                let article = try #require(try context.find(id))
                article.views = 7
                try context.commit()
            }
            let row = try await stack.on(.main) { try $0.find(id)?.snapshot }
            #expect(row?.title == "main's" && row?.views == 7)
            try await stack.commit(.main)
            let stored = try await stack.on(.root) { try $0.find(id)?.snapshot }
            #expect(stored?.title == "main's" && stored?.views == 7)
        }
    }

    @Test("rollback() drops own edits, and with includingSaved it also drops edits that children have saved here")
    func rollback() async throws {
        for includingSaved in [false, true] {
            try await withArticle { stack, id, _ in
                try await stack.on(.network) { context in
                    try #require(try context.find(id)).views = 1
                    try context.save()
                }
                try await stack.on(.main) { context in
                    let article = try #require(try context.find(id))
                    article.title = "mine"
                    context.rollback(includingSaved: includingSaved)
                    #expect(article.title == "t" && article.views == (includingSaved ? 0 : 1))
                    #expect(context.hasChanges == !includingSaved)
                }
            }
        }
    }

    @Test("A commit includes the parent's inserted objects that it refers to, but not the parent's other inserts")
    func alongWith() async throws {
        try await withStack(.memory) { stack in
            let author = try await stack.on(.main) { context in
                context.insert(Author(name: "stays"))
                return context.insert(Author(name: "goes")).id
            }
            try await stack.background { context in
                context.insert(Article(title: "t", author: try context.find(author)))
                try context.commit()
            }
            try await stack.on(.root) { (context) throws in
                #expect(try context.fetch(Author.all).map(\.name) == ["goes"])
                #expect(try context.first(Article.all)?.author?.name == "goes")
            }
            try await stack.on(.main) { (context) throws in
                context.rollback()
                // The commit has stored this row, so the row stays.
                #expect(try context.fetch(Author.all).map(\.name) == ["goes"])
            }
        }
    }

    @Test("A parent's row that a commit includes is validated, and a failure names the object and the context")
    func alongInvalid() async throws {
        try await withStack(.memory) { stack in
            let writer = try await stack.on(.main) { $0.insert(Writer(name: "")).id }
            try await stack.background { context in
                let spouse = context.insert(Spouse(name: "s"))
                try #require(try context.find(writer)).spouses.insert(spouse)
                let error = #expect(throws: StrataError.self) { try context.commit() }
                #expect(error?.code == .validation && Set(error?.details.map(\.id) ?? []) == [writer.rawValue])
                #expect(error.map { "\($0)".contains("main") } == true, "\(String(describing: error))")
            }
            #expect(try await stack.on(.root) { try $0.count(Spouse.all) } == 0)
        }
    }

    @Test("An object that a parent inserted and a child deletes never reaches the store, and the insert is cancelled")
    func withdrawn() async throws {
        try await withStack(.memory) { stack in
            let id = try await stack.on(.main) { $0.insert(Author(name: "a")).id }
            try await stack.background { context in
                context.delete(try #require(try context.find(id)))
                try context.commit()
            }
            #expect(try await stack.on(.main) { try $0.count(Author.all) } == 0)
            try await stack.commit(.main)
            #expect(try await stack.on(.root) { try $0.count(Author.all) } == 0)
        }
    }

    @Test("An object that a context saved upward, deleted and committed is gone everywhere", arguments: [false, true])
    func withdrawnAfterSave(_ savesDelete: Bool) async throws {
        try await withStack(.memory) { stack in
            try stack.create(.private, named: .network)
            let id = try await stack.on(.network) { context in
                let author = context.insert(Author(name: "a"))
                try context.save()
                return author.id
            }
            #expect(try await stack.on(.main) { try $0.count(Author.all) } == 1)
            try await stack.on(.network) { context in
                context.delete(try #require(try context.find(id)))
                if savesDelete { try context.save() }
                try context.commit()
                #expect(!context.hasChanges)
            }
            for name in [ContextName.main, .root, .network] {
                #expect(try await stack.on(name) { try $0.count(Author.all) } == 0)
                #expect(try await stack.on(name) { !$0.hasChanges })
            }
        }
    }
}
