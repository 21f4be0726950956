import Testing

@testable import Strata

@Suite("Pitfalls of nested contexts: deletes, failed saves and the lifetime of objects", .timeLimit(.minutes(1)))
struct NestedDeletePitfallTests {
    /// A committed author, and a named worker.
    private nonisolated(nonsending) func withAuthor(
        _ kind: StoreKind = .memory,
        _ body: nonisolated(nonsending) (ContextStack, ObjectID<Author>) async throws -> Void
    ) async throws {
        try await withStack(kind) { stack in
            let id = try await stack.background { context in
                let author = context.insert(Author(name: "base"))
                try context.commit()
                return author.id
            }
            try stack.create(.private, named: .network)
            try await body(stack, id)
        }
    }

    @Test("A child's edit of an object that its parent deleted is a conflict, and the child's policies decide it")
    func deletedAgainstEdited() async throws {
        for policy in [MergePolicy.error, .mine, .theirs] {
            try await withAuthor { stack, id in
                try await stack.on(.network) { try #require(try $0.find(id)).name = "mine" }
                try await stack.on(.main) { $0.delete(try #require(try $0.find(id))) }
                try await stack.on(.network) { context in
                    context.mergePolicy = policy
                    if policy == .error {
                        let error = #expect(throws: StrataError.self) { try context.save() }
                        #expect(error?.code == .conflict && error?.details.map(\.id) == [id.rawValue])
                    } else {
                        try context.save()
                    }
                }
                let name = try await stack.on(.main) { try $0.find(id)?.name }
                #expect(name == (policy == .mine ? "mine" : nil))
            }
        }
    }

    @Test("A child's delete of an object that its parent edited is a conflict")
    func editedAgainstDeleted() async throws {
        try await withAuthor { stack, id in
            try await stack.on(.network) { $0.delete(try #require(try $0.find(id))) }
            try await stack.on(.main) { try #require(try $0.find(id)).name = "theirs" }
            await expect(.conflict) { try await stack.save(.network) }
            try await stack.on(.network) { context in
                context.mergePolicy = .mine
                try context.save()
            }
            #expect(try await stack.on(.main) { try $0.find(id) == nil })
        }
    }

    enum Use: CaseIterable { case insert, member, destination, change, changeBeforePublishing }

    @Test(
        "A save refuses an object that was deleted here and is used again, until it is rolled back",
        arguments: Use.allCases
    )
    func usedAfterDelete(_ use: Use) async throws {
        try await withAuthor { stack, id in
            try await stack.on(.network) { context in
                var author = try #require(try context.find(id))
                if use == .changeBeforePublishing { author = context.insert(Author(name: "new")) }
                context.delete(author)
                switch use {
                case .insert: context.insert(author)
                case .member: author.articles.insert(Article(slug: "s", title: "t"))
                case .destination: context.insert(Article(slug: "s", title: "t", author: author))
                case .change, .changeBeforePublishing: author.name = "changed"
                }
                for save in [SavingContext.save, SavingContext.commit] {
                    let error = #expect(throws: StrataError.self) { try save(context)() }
                    #expect(error?.code == .invalidState)
                    #expect(error?.details.map(\.id) == [author.id.rawValue])
                }
                context.rollback([author])
                if use == .changeBeforePublishing { return context.rollback() }
                try context.commit()
                #expect(try context.find(id) === author && author.name == "base")
                if use == .member || use == .destination { #expect(try author.articles.count == 1) }
            }
        }
    }

    @Test(
        "A deny rule checks all data, not only loaded objects, and the error names the blocking object",
        arguments: StoreKind.allCases
    )
    func deny(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            let (publisher, contract) = try await stack.background { context in
                let publisher = context.insert(Publisher(name: "p"))
                let contract = context.insert(Contract(title: "c", publisher: publisher))
                try context.commit()
                return (publisher.id, contract.id)
            }
            try await stack.background { context in
                context.delete(try #require(try context.find(publisher)))
                for save in [SavingContext.save, SavingContext.commit] {
                    let error = #expect(throws: StrataError.self) { try save(context)() }
                    #expect(error?.code == .deleteDenied)
                    #expect(error?.details.map(\.id) == [contract.rawValue])
                }
                context.delete(try #require(try context.find(contract)))
                try context.commit()
                #expect(try context.count(Publisher.all) == 0)
            }
        }
    }

    @Test("A failed save lists every failing object, and after their rollback the other objects are saved")
    func failing() async throws {
        try await withStack(.memory) { stack in
            try await stack.background { context in
                let good = context.insert(Writer(name: "good"))
                let bad = [context.insert(Writer(name: "")), context.insert(Writer(name: "x", fee: 2_000))]
                for _ in 0...1 {
                    let error = #expect(throws: StrataError.self) { try context.save() }
                    #expect(error?.code == .validation)
                    #expect(Set(error?.details.map(\.id) ?? []) == Set(bad.map(\.id.rawValue)))
                    #expect(try context.count(Writer.all) == 3)
                }
                context.rollback(bad)
                try context.save()
                #expect(try context.fetch(Writer.all).map(\.name) == ["good"])
                #expect(!good.isDeleted && bad.allSatisfy(\.isDeleted))
            }
            #expect(try await stack.on(.main) { try $0.count(Writer.all) } == 1)
        }
    }

    @Test("Objects that refer to each other are freed after the block that used them")
    func cycles() async throws {
        try await withStack(.memory) { stack in
            let id = try await stack.background { context in
                let author = context.insert(Author(name: "a"))
                context.insert(Article(title: "t", author: author))
                try context.commit()
                return author.id
            }
            let network = try stack.create(.private)
            let held = try await network.perform { context in
                let author = try #require(try context.find(id))
                let article = try #require(try author.articles.first)
                #expect(article.author === author)
                return Weak(author, article)
            }
            // Only the context used these objects, and its block is over.
            try await network.perform { _ in }
            #expect(held.left == nil && held.right == nil)
        }
    }

    @Test("reset() frees the objects that a dropped context kept")
    func reset() async throws {
        enum Kept: ContextStateKey { typealias Value = Author }
        try await withStack(.memory) { stack in
            let network = try stack.create(.private, named: .network)
            let held = try await network.perform { context in
                let author = context.insert(Author(name: "a"))
                try context.commit()
                context.state[Kept.self] = author
                return Weak(author, author)
            }
            #expect(held.left != nil)
            try await stack.reset()
            #expect(held.left == nil)
        }
    }

    @Test("An object that outlives its stack keeps its values, and every use of its context throws")
    @MainActor func outliving() async throws {
        let stack = try await openStack()
        let context = try stack.main
        let author = context.insert(Author(name: "a"))
        try await stack.close()
        #expect(author.name == "a")
        author.name = "b"
        #expect(throws: StrataError.self) { try context.fetch(Author.all) }
        #expect(throws: StrataError.self) { try context.save() }
        #expect(throws: StrataError.self) { try context.commit() }
        #expect(throws: StrataError.self) { try author.articles.fetch() }
    }
}

/// Two weak references to objects.
final class Weak: @unchecked Sendable {
    // The tests only compare the references with nil, which any thread may do.
    private(set) weak var left: AnyObject?
    private(set) weak var right: AnyObject?

    init(_ left: AnyObject, _ right: AnyObject) {
        self.left = left
        self.right = right
    }
}
