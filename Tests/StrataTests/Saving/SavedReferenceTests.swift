import Strata
import Testing

/// The checks of a save on relationships, before its parent has them.
@Suite("References that a context saves to its parent") struct SavedReferenceTests {
    private func author(in stack: ContextStack) async throws -> ObjectID<Author> {
        try await stack.on(.root) { context in
            let author = context.insert(Author(name: "Ada"))
            try context.commit()
            return author.id
        }
    }

    private func deleteAuthors(in stack: ContextStack) async throws {
        try await stack.background(parent: .named(.root)) { context in
            for author in try context.fetch(Author.all) { context.delete(author) }
            try context.commit()
        }
    }

    @Test("A reference to an object that others have deleted is refused, and the parent can commit")
    func deleted() async throws {
        let stack = try await openStack()
        let author = try await author(in: stack)
        let editor = try stack.create(.private, named: "editor")
        try await editor.perform { context in
            _ = context.insert(Article(title: "Notes", author: try context.find(author)))
        }
        try await deleteAuthors(in: stack)
        try await editor.perform { context in
            let error = #expect(throws: StrataError.self) { try context.save() }
            #expect(error?.code == .missingReference)
            #expect(error?.details.map(\.column) == ["author"])
        }
        try await stack.on(.main) { context in
            #expect(!context.hasChanges)
            context.insert(Author(name: "unrelated"))
        }
        try await stack.commit(.main)
        // The refused article is still in its context, and can be related to another author.
        try await editor.perform { context in
            let article = try #require(try context.first(Article.all))
            article.author = try context.first(Author.where { $0.name == "unrelated" })
            try context.save()
        }
        try await stack.commit(.main)
        try await stack.background { context in
            let names = try context.fetch(Article.all).map { $0.author?.name }
            #expect(names == ["unrelated"])
        }
        try await stack.close()
    }

    @Test("A save refuses references and members that lead to objects that its parent has deleted")
    func otherReferences() async throws {
        let stack = try await openStack()
        let author = try await author(in: stack)
        let (article, writer, spouse) = try await stack.on(.root) { context in
            let article = context.insert(Article(title: "Notes"))
            let (writer, spouse) = (context.insert(Writer(name: "w")), context.insert(Spouse(name: "s")))
            try context.commit()
            return (article.id, writer.id, spouse.id)
        }
        let editor = try stack.create(.private, named: "editor")
        try await editor.perform { context in
            try #require(try context.find(article)).author = try context.find(author)
        }
        try await stack.on(.main) { context in context.delete(try #require(try context.find(author))) }
        try await editor.perform { context in
            let error = #expect(throws: StrataError.self) { try context.save() }
            #expect(error?.code == .missingReference)
            context.rollback()
            try #require(try context.find(writer)).spouses.insert(try #require(try context.find(spouse)))
        }
        try await stack.on(.main) { context in
            context.rollback()
            context.delete(try #require(try context.find(spouse)))
        }
        try await editor.perform { context in
            let error = #expect(throws: StrataError.self) { try context.save() }
            #expect(error?.code == .missingReference)
        }
        try await stack.commit(.main)
        try await stack.close()
    }

    @Test(
        "A save allows references to its parent's unsaved objects or with .noAction, and ignores those that .theirs drops"
    )
    func allowed() async throws {
        let fixture = try await SavingFixture()
        let stack = fixture.stack
        let (ada, article, owner) = try await stack.on(.root) { context in
            let author = context.insert(Author(name: "Ada"))
            let article = context.insert(Article(title: "Notes"))
            let owner = context.insert(Owner(name: "o"))
            try context.commit()
            return (author.id, article.id, owner.id)
        }
        let pending = try await stack.on(.main) { context in context.insert(Author(name: "pending")).id }
        try await stack.on(.network) { context in
            context.insert(Article(title: "Of a pending author", author: try context.find(pending)))
            context.insert(Untouched(name: "u", owner: try context.find(owner)))
            try #require(try context.find(article)).author = try context.find(ada)
        }
        try await stack.on(.main) { context in
            try #require(try context.find(article)).author = try context.find(pending)
            context.delete(try #require(try context.find(owner)))
            context.delete(try #require(try context.find(ada)))
        }
        #expect(try await fixture.save(.network, .theirs) == .success)
        try await stack.on(.main) { context in
            let authors = try context.fetch(Article.sorted { $0.title }).map { $0.author?.name }
            #expect(authors == ["pending", "pending"])
            #expect(try context.count(Untouched.all) == 1)
        }
        try await stack.commit(.main)
        try await fixture.close()
    }
}
