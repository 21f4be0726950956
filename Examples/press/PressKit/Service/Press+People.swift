import Foundation
import Strata

/// An author as a client sends it.
struct AuthorDraft: Draft {
    static let fields: Set<String> = ["name", "email"]

    var name: String
    var email: String
}

/// A comment as a client sends it.
struct CommentDraft: Draft {
    static let fields: Set<String> = ["name", "text"]

    var name: String
    var text: String
}

/// A subscriber as a client sends it.
struct SubscriberDraft: Draft {
    static let fields: Set<String> = ["email"]

    var email: String
}

extension Press {
    // MARK: Authors

    func authors(_ page: PageQuery) async throws -> QueryPage<Author.Row> {
        try await stack.page(Author.byName, size: page.size, after: page.after)
    }

    func author(_ id: ObjectID<Author>) async throws -> Author.Row {
        try await stack.background { context in try context.row(Author.where { $0.id == id }) }
    }

    func addAuthor(_ draft: AuthorDraft) async throws -> Author.Row {
        try await stack.write { context in
            context.insert(Author(name: draft.name, email: draft.email)).snapshot
        }
    }

    func editAuthor(_ id: ObjectID<Author>, _ draft: AuthorDraft, if condition: IfMatch) async throws -> Author.Row {
        try await stack.write { context in
            let author = try context.object(id, if: condition)
            author.name = draft.name
            author.email = draft.email
            author.revise()
            return author.snapshot
        }
    }

    /// Deletes an author. The delete rule refuses authors who have articles.
    func deleteAuthor(_ id: ObjectID<Author>, if condition: IfMatch) async throws {
        try await stack.write { context in context.delete(try context.object(id, if: condition)) }
    }

    // MARK: Comments

    func comments(of article: ObjectID<Article>, _ page: PageQuery) async throws -> QueryPage<Comment.Row> {
        try await stack.background { context in
            guard try context.exists(Article.where { $0.id == article }) else { throw Problem.notFound }
            let comments = Comment.where { $0.article == article }.sorted { [$0.writtenAt.ascending, $0.id.ascending] }
            return try context.rowPage(comments, size: page.size, after: page.after)
        }
    }

    func comment(_ id: ObjectID<Comment>) async throws -> Comment.Row {
        try await stack.background { context in try context.row(Comment.where { $0.id == id }) }
    }

    func addComment(_ draft: CommentDraft, to article: ObjectID<Article>) async throws -> Comment.Row {
        let now = Date()
        return try await stack.write { context in
            guard let article = try context.find(article) else { throw Problem.notFound }
            let comment = Comment(name: draft.name, text: draft.text, writtenAt: now, article: article)
            return context.insert(comment).snapshot
        }
    }

    func editComment(_ id: ObjectID<Comment>, _ draft: CommentDraft, if condition: IfMatch) async throws -> Comment.Row
    {
        try await stack.write { context in
            let comment = try context.object(id, if: condition)
            comment.name = draft.name
            comment.text = draft.text
            comment.revise()
            return comment.snapshot
        }
    }

    func deleteComment(_ id: ObjectID<Comment>, if condition: IfMatch) async throws {
        try await stack.write { context in context.delete(try context.object(id, if: condition)) }
    }

    // MARK: Subscribers

    func addSubscriber(_ draft: SubscriberDraft) async throws -> Subscriber.Row {
        try await stack.write { context in
            // Addresses that differ only in capital letters reach the same person.
            context.insert(Subscriber(email: draft.email.lowercased())).snapshot
        }
    }

    func deleteSubscriber(_ id: ObjectID<Subscriber>) async throws {
        try await stack.write { context in
            guard let subscriber = try context.find(id) else { throw Problem.notFound }
            context.delete(subscriber)
        }
    }
}
