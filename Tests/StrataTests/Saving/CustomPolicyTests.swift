import Foundation
import Synchronization
import Testing

@testable import Strata

@Suite("Conflicts that a custom policy decides") struct CustomPolicyTests {
    /// Two children of the root edit the same article. Returns the error of the second save or commit, and the row
    /// after it.
    private func meet(_ policy: MergePolicy, isCommit: Bool) async throws -> (error: StrataError?, row: Article.Row?) {
        let stack = try await openStack(.rootOnly)
        let id = try await stack.on(.root) { context in
            let article = context.insert(Article(title: "base", body: "base", views: 10))
            try context.commit()
            return article.id
        }
        try stack.create(.private, named: .network)
        try await stack.on(.network) { context in
            let article = try #require(try context.find(id))
            article.title = "mine"
            article.views += 5
            article.body = "only mine"
        }
        try await stack.background(parent: .named(.root)) { context in
            let article = try #require(try context.find(id))
            article.title = "theirs"
            article.views += 3
            if isCommit { try context.commit() } else { try context.save() }
        }
        let error: StrataError? = try await stack.on(.network) { context in
            context.mergePolicy = policy
            do {
                if isCommit { try context.commit() } else { try context.save() }
                return nil
            } catch let error as StrataError {
                return error
            }
        }
        let row = try await stack.on(isCommit ? .network : .root) { try $0.find(id)?.snapshot }
        if error == nil {
            try await stack.commit(.root)
            let stored = try await stack.background { try $0.rows(Article.all) }
            #expect(stored.map(\.title) == [row?.title] && stored.map(\.views) == [row?.views])
        }
        try await stack.close()
        return (error, row)
    }

    @Test("A custom policy decides each column: mine, theirs, or a value made of both", arguments: [false, true])
    func columns(isCommit: Bool) async throws {
        let asked = Mutex<Set<String>>([])
        let policy = MergePolicy.custom { conflict in
            asked.withLock { _ = $0.insert("\(conflict.model).\(conflict.column ?? "-") \(conflict.kind)") }
            if let (base, mine, theirs) = conflict.values(of: Int.self) { return .value(mine + theirs - base) }
            return .theirs
        }
        let (error, row) = try await meet(policy, isCommit: isCommit)
        #expect(error == nil)
        #expect(row?.views == 18 && row?.title == "theirs" && row?.body == "only mine")
        #expect(asked.withLock { $0 } == ["Article.views changedOnBothSides", "Article.title changedOnBothSides"])
        let mine = try await meet(.custom { _ in .mine }, isCommit: isCommit)
        #expect(mine.error == nil && mine.row?.views == 15 && mine.row?.title == "mine")
    }

    @Test(
        "A conflict that the policy leaves undecided, or decides with an unfit value, is an error",
        arguments: [false, true]
    )
    func errors(isCommit: Bool) async throws {
        let (error, row) = try await meet(.custom { $0.column == "title" ? .error : .mine }, isCommit: isCommit)
        #expect(error?.code == .conflict && error?.details.map(\.column) == ["title"])
        #expect(row?.title == (isCommit ? "mine" : "theirs"))
        let wrong = try await meet(.custom { _ in .value(.blob(Data([1]))) }, isCommit: isCommit)
        #expect(wrong.error?.code == .conflict && wrong.error?.details.count == 2)
    }

    @Test("A custom policy decides about objects that one side has deleted", arguments: [false, true])
    func deletes(isMine: Bool) async throws {
        let stack = try await openStack(.rootOnly)
        let ids = try await stack.on(.root) { context in
            let authors = ["edited", "deleted"].map { context.insert(Author(name: $0)) }
            try context.commit()
            return authors.map(\.id)
        }
        try stack.create(.private, named: .network)
        try await stack.on(.network) { context in
            try #require(try context.find(ids[0])).fee = 1
            context.delete(try #require(try context.find(ids[1])))
        }
        try await stack.background { context in
            context.delete(try #require(try context.find(ids[0])))
            try #require(try context.find(ids[1])).fee = 2
            try context.commit()
        }
        try await stack.on(.network) { context in
            context.mergePolicy = .custom { conflict in
                #expect(conflict.column == nil && conflict.kind != .changedOnBothSides)
                return isMine ? .mine : .theirs
            }
            try context.commit()
        }
        let names = try await stack.background { try $0.column(Author.all, \.name) }
        #expect(names == [isMine ? "edited" : "deleted"])
        try await stack.close()
    }

    @Test("A conflict gives its values only in the attribute's own type, and none for a relationship")
    func types() async throws {
        let stack = try await openStack(.rootOnly)
        let (id, authors) = try await stack.on(.root) { context in
            let authors = (0..<3).map { context.insert(Author(name: "\($0)")) }
            let article = context.insert(Article(title: "t", length: 1, author: authors[0]))
            try context.commit()
            return (article.id, authors.map(\.id))
        }
        func edit(_ context: ObjectContext, _ index: Int) throws {
            let article = try #require(try context.find(id))
            (article.views, article.length, article.author) = (index, 1 + index, try context.find(authors[index]))
            article.publishedAt = Date(timeIntervalSinceReferenceDate: Double(index))
        }
        try stack.create(.private, named: .network)
        try await stack.on(.network) { try edit($0, 1) }
        try await stack.background { context in
            try edit(context, 2)
            try context.commit()
        }
        let row = try await stack.on(.network) { context in
            context.mergePolicy = .custom { conflict in
                #expect(conflict.values(of: Bool.self) == nil && conflict.values(of: Int32.self) == nil)
                #expect(conflict.values(of: Double.self) == nil)
                guard let (base, mine, theirs) = conflict.values(of: Int.self) else { return .theirs }
                return .value(mine + theirs - base)
            }
            try context.commit()
            return try context.find(id)?.snapshot
        }
        #expect(row?.views == 3 && row?.length == 4)
        #expect(row?.author == authors[2] && row?.publishedAt == Date(timeIntervalSinceReferenceDate: 2))
        try await stack.close()
    }

    @Test("Two policies are equal only if they are the same policy")
    func equality() {
        let custom = MergePolicy.custom { _ in .mine }
        let copy = custom
        #expect(custom == copy && custom != .mine && custom != .custom { _ in .mine })
        #expect(Set([custom, copy, .mine, .error]).count == 3)
        #expect("\(custom)" == ".custom")
    }
}
