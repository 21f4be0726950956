import Foundation
import Testing

@testable import Strata

@Suite("References that others have set to an object that a commit deletes") struct SameReferenceTests {
    @Test(
        "A commit never leaves a reference to an object that it deletes",
        arguments: [MergePolicy.theirs, .mine, .error]
    )
    func alike(_ policy: MergePolicy) async throws {
        let stack = try await openStack(.rootOnly)
        let (author, article) = try await stack.on(.root) { context in
            let made = (context.insert(Author(name: "a")), context.insert(Article(title: "t")))
            try context.commit()
            return (made.0.id, made.1.id)
        }
        let parent = try stack.create(.private, named: "parent")
        let child = try await stack.on(parent) { _ in try stack.create(.private, named: "child") }
        try await child.perform { context in
            try #require(try context.find(article)).author = try context.find(author)
        }
        try await parent.perform { context in
            context.mergePolicy = policy
            context.delete(try #require(try context.find(author)))
        }
        // The parent has deleted the author, so a save to it is refused already.
        await expect(.missingReference) { try await child.save() }
        let other = try stack.create(.private, named: "other", reads: .committed)
        try await other.perform { context in
            try #require(try context.find(article)).author = try context.find(author)
            try context.commit()
        }
        do { try await parent.commit() } catch let error as StrataError {
            #expect(error.code == .missingReference || error.code == .conflict)
        }
        let dangling = try await other.perform { context in
            try context.values(
                Int.self,
                "SELECT count(*) FROM \(Article.self) WHERE author IS NOT NULL AND author NOT IN (SELECT id FROM \(Author.self))"
            )
        }
        #expect(dangling == [0])
        try await stack.close()
    }
}
