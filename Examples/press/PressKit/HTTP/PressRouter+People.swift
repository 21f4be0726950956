import Hummingbird
import Strata

extension PressRouter {
    func addAuthors(to router: Router<PressContext>) {
        router.get("authors") { request, _ in
            let page = try PageQuery(request)
            return try page.response(try await press.authors(page), of: request)
        }
        router.post("authors") { request, _ in
            let draft = try await PressJSON.decode(AuthorDraft.self, from: request, limit: bodyLimit)
            let row = try await press.addAuthor(draft)
            return try Self.created(row, at: "/authors/\(row.id)", Author.headers(row.version))
        }
        router.get("authors/:id") { request, context in
            let row = try await press.author(context.objectID(Author.self))
            return try Self.answer(
                row,
                Author.headers(row.version),
                isKnown: EntityTag.isKnown(row.version, to: request)
            )
        }
        router.put("authors/:id") { request, context in
            let (id, condition) = (try context.objectID(Author.self), try IfMatch(request))
            let draft = try await PressJSON.decode(AuthorDraft.self, from: request, limit: bodyLimit)
            let row = try await press.editAuthor(id, draft, if: condition)
            return try PressJSON.response(row, headers: Author.headers(row.version))
        }
        router.delete("authors/:id") { request, context in
            try await press.deleteAuthor(context.objectID(Author.self), if: IfMatch(request))
            return HTTPResponse.Status.noContent
        }
    }

    func addComments(to router: Router<PressContext>) {
        router.get("articles/:id/comments") { request, context in
            let page = try PageQuery(request)
            return try page.response(
                try await press.comments(of: context.objectID(Article.self), page),
                of: request
            )
        }
        router.post("articles/:id/comments") { request, context in
            let id = try context.objectID(Article.self)
            let draft = try await PressJSON.decode(CommentDraft.self, from: request, limit: bodyLimit)
            let row = try await press.addComment(draft, to: id)
            return try Self.created(row, at: "/comments/\(row.id)", Comment.headers(row.version))
        }
        router.get("comments/:id") { request, context in
            let row = try await press.comment(context.objectID(Comment.self))
            return try Self.answer(
                row,
                Comment.headers(row.version),
                isKnown: EntityTag.isKnown(row.version, to: request)
            )
        }
        router.put("comments/:id") { request, context in
            let (id, condition) = (try context.objectID(Comment.self), try IfMatch(request))
            let draft = try await PressJSON.decode(CommentDraft.self, from: request, limit: bodyLimit)
            let row = try await press.editComment(id, draft, if: condition)
            return try PressJSON.response(row, headers: Comment.headers(row.version))
        }
        router.delete("comments/:id") { request, context in
            try await press.deleteComment(context.objectID(Comment.self), if: IfMatch(request))
            return HTTPResponse.Status.noContent
        }
    }

    func addSubscribers(to router: Router<PressContext>) {
        router.post("subscribers") { request, _ in
            let draft = try await PressJSON.decode(SubscriberDraft.self, from: request, limit: bodyLimit)
            let row = try await press.addSubscriber(draft)
            return try Self.created(row, at: "/subscribers/\(row.id)")
        }
        router.delete("subscribers/:id") { _, context in
            try await press.deleteSubscriber(context.objectID(Subscriber.self))
            return HTTPResponse.Status.noContent
        }
    }
}
