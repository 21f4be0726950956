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
        "H15 C5 a block keeps its moment: what is committed meanwhile shows in the next one",
        arguments: Place.allCases
    )
    func oneMoment(_ place: Place) async throws {
        try await withStack(place) { stack in
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

    @Test("H16 C16 main is edited while its commit is on the disk, and keeps what the commit did not take")
    func inFlight() async throws {
        let folder = try StoreFolder()
        let stack = try await ContextStack.open(folder.location, models: allModels)
        let id = try await stack.on(.main) { $0.insert(Author(name: "first")).id }
        let disk = try DiskLock(folder.file)
        let commit = Task.detached { try await stack.commit(.main) }
        let commitGate = try stack[.main].owner.commitGate
        while commitGate.holder == nil { await Task.yield() }
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

    @Test("H18 H19 a parent's unfinished edit is no conflict of a child's commit, and is asked about at its own")
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

    @Test("H19 after a commit, columns that a parent has not edited take the new values")
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

    @Test("H20 C10 rollback drops own edits, with includingSaved what children saved here too")
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

    @Test("H21 C16 what a parent inserted and a commit refers to goes along; its other edits do not")
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
                // The row that went along is committed, and stays.
                #expect(try context.fetch(Author.all).map(\.name) == ["goes"])
            }
        }
    }

    @Test("H21 a row that goes along is validated, and a failure names object and context")
    func alongInvalid() async throws {
        try await withStack(.memory) { stack in
            let writer = try await stack.on(.main) { $0.insert(Writer(name: "")).id }
            try await stack.background { context in
                let spouse = context.insert(Spouse(name: "s"))
                try #require(try context.find(writer)).spouses.insert(spouse)
                let error = #expect(throws: StrataError.self) { try context.commit() }
                #expect(error?.code == .validation && Set(error?.details.map(\.number) ?? []) == [writer.number])
                #expect(error.map { "\($0)".contains("main") } == true, "\(String(describing: error))")
            }
            #expect(try await stack.on(.root) { try $0.count(Spouse.all) } == 0)
        }
    }

    @Test("H22 a child deletes what a parent inserted: nothing reaches the store, the insert is withdrawn")
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

    @Test("H22 H20 what a context saved upward, deleted and committed is gone everywhere", arguments: [false, true])
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
