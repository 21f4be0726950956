import Testing

@testable import Strata

@Suite("Blocks within blocks")
struct NestedBlockTests {
    @Test("A child's save shows in the objects of the block around it (C5, H13)")
    func save() async throws {
        let stack = try await openStack(.rootOnly)
        let parent = try stack.create(.private, named: "parent")
        let shown = try await parent.perform { context in
            let article = context.insert(Article(title: "A"))
            let id = article.id
            try await stack.push(.private) { child in
                try child.find(id)?.views = 7
                try child.save()
            }
            return article.views
        }
        #expect(shown == 7)
    }

    @Test("A child's save of committed objects shows in the block around it (C5, H13)")
    func saveCommitted() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            context.insert(Article(title: "A"))
            try context.commit()
        }
        let parent = try stack.create(.private, named: "parent")
        let shown = try await parent.perform { context in
            let article = try context.first(Article.all)!
            let id = article.id
            try await stack.background { child in
                try child.find(id)?.views = 7
                try child.save()
            }
            return article.views
        }
        #expect(shown == 7)
    }

    @Test("A parent that edits what its child commits meanwhile is asked at its own commit (H19)")
    func conflict() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            context.insert(Article(title: "A"))
            try context.commit()
        }
        let parent = try stack.create(.private, named: "parent")
        try await parent.perform { context in
            let article = try context.first(Article.all)!
            article.body = "parent"
            let id = article.id
            try await stack.push(.private) { child in
                try child.find(id)?.body = "child"
                try child.commit()
            }
            #expect(article.body == "parent")
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .conflict)
            #expect(article.body == "parent")
        }
        let stored = try await stack.on(.root) { try $0.first(Article.all)?.body }
        #expect(stored == "child")
    }

    @Test("A parent that edits what its child commits in another block is asked at its own commit (H19)")
    func conflictOfBlocks() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            context.insert(Article(title: "A"))
            try context.commit()
        }
        let parent = try stack.create(.private, named: "parent")
        try await parent.perform { context in try context.first(Article.all)!.body = "parent" }
        try await stack.background(parent: .context(parent)) { child in
            try child.first(Article.all)!.body = "child"
            try child.commit()
        }
        let error = await #expect(throws: StrataError.self) { try await parent.commit() }
        #expect(error?.code == .conflict)
        let stored = try await stack.on(.root) { try $0.first(Article.all)?.body }
        #expect(stored == "child")
    }
}
