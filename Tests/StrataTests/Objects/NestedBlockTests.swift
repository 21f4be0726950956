import Testing

@testable import Strata

@Suite("Blocks within blocks")
struct NestedBlockTests {
    @Test("The objects of the surrounding block show a child's save")
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

    @Test("The surrounding block shows a child's save of committed objects")
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

    @Test("A query in a block sees what an inner block has saved or committed, also after an earlier query")
    func query() async throws {
        let stack = try await openStack(.rootOnly)
        let parent = try stack.create(.private, named: "parent")
        let counts = try await parent.perform { context in
            var counts = [try context.count(Article.self)]
            try await stack.push(.private) { child in
                child.insert(Article(title: "saved"))
                try child.save()
            }
            counts.append(try context.count(Article.self))
            try await stack.background(parent: .named(.root)) { other in
                other.insert(Article(title: "committed"))
                try other.commit()
            }
            counts.append(try context.count(Article.self))
            return counts
        }
        #expect(counts == [0, 1, 2])
    }

    @Test("A block that reads only once does not see commits that other contexts make meanwhile")
    func pinned() async throws {
        let stack = try await openStack(.rootOnly)
        let parent = try stack.create(.private, named: "parent")
        let counts = try await parent.perform { context in
            var counts = [try context.count(Article.self)]
            // A detached task does not count as work that this block waits for.
            try await Task.detached {
                try await stack.background(parent: .named(.root)) { other in
                    other.insert(Article(title: "committed"))
                    try other.commit()
                }
            }.value
            counts.append(try context.count(Article.self))
            return counts
        }
        #expect(counts == [0, 0])
    }

    @Test("A block keeps its own edits while an inner block commits other edits")
    func ownEdits() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            context.insert(Article(title: "A"))
            try context.commit()
        }
        let parent = try stack.create(.private, named: "parent")
        try await parent.perform { context in
            let article = try #require(try context.first(Article.all))
            article.body = "mine"
            let id = article.id
            try await stack.background(parent: .named(.root)) { other in
                try other.find(id)?.views = 3
                try other.commit()
            }
            #expect(article.body == "mine")
            #expect(article.views == 3)
            try context.commit()
        }
        let stored = try await stack.on(.root) { try $0.rows(Article.all)[0] }
        #expect(stored.body == "mine")
        #expect(stored.views == 3)
    }

    @Test("The main actor's objects show changes that the main actor has waited for")
    @MainActor func main() async throws {
        let stack = try await openStack()
        let context = try stack.main
        let article = context.insert(Article(title: "A"))
        try await stack.commit(.main)
        let id = article.id
        try await stack.background { child in
            try child.find(id)?.views = 7
            try child.commit()
        }
        #expect(article.views == 7)
        try await stack.background { child in
            try child.find(id)?.views = 8
            try child.save()
        }
        #expect(article.views == 8)
        #expect(try context.count(Article.where { $0.views == 8 }) == 1)
    }

    @Test("A child may overwrite a parent's edit that it has seen; a later edit of the parent is a conflict")
    func overwritten() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            context.insert(Article(title: "A"))
            try context.commit()
        }
        let parent = try stack.create(.private, named: "parent")
        let id = try await parent.perform { context in
            let article = try #require(try context.first(Article.all))
            article.body = "draft"
            let id = article.id
            try await stack.push(.private) { child in
                try child.find(id)?.body = "child"
                try child.commit()
            }
            #expect(article.body == "child")
            #expect(!context.hasChanges)
            return id
        }
        try stack.push(parent)
        let child = try stack.create(.private, named: "child")
        try await child.perform { try $0.find(id)?.body = "child again" }
        try await parent.perform { try $0.find(id)?.body = "parent" }
        try await child.commit()
        let shown = try await parent.perform { try $0.find(id)?.body }
        #expect(shown == "parent")
        let error = await #expect(throws: StrataError.self) { try await parent.commit() }
        #expect(error?.code == .conflict)
        #expect(error?.details.first?.theirs == .text("child again"))
    }
}
