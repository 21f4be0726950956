import HTTPTypes
import Hummingbird
import Strata

extension PressRouter {
    func addPictures(to router: Router<PressContext>) {
        router.get("articles/:id/pictures") { _, context in
            let rows = try await press.allPictures(of: context.objectID(Article.self))
            return try PressJSON.response(Page(items: rows, next: nil))
        }
        router.post("articles/:id/pictures") { request, context in
            let id = try context.objectID(Article.self)
            try await press.checkPictures(of: id)
            let received = try await press.pictures.receive(request)
            let row = try await press.addPicture(received, to: id)
            return try Self.created(row, at: "/pictures/\(row.id)", Picture.headers(row.version))
        }
        router.get("pictures/:id") { request, context in
            let row = try await press.picture(context.objectID(Picture.self))
            return try Self.answer(
                row,
                Picture.headers(row.version),
                isKnown: EntityTag.isKnown(row.version, to: request)
            )
        }
        router.get("pictures/:id/file") { request, context in
            let row = try await press.picture(context.objectID(Picture.self))
            // The bytes of a picture never change, so the name of the file identifies them.
            let headers: HTTPFields = [
                .contentType: row.type, .cacheControl: "public, max-age=31536000, immutable",
                .xContentTypeOptions: "nosniff", .eTag: "\"\(row.file)\"",
            ]
            if EntityTag.isKnown(row.file, to: request) { return Response(status: .notModified, headers: headers) }
            let place = try await press.pictures.place(of: row.file, from: press.stack)
            let body = try await FileIO().loadFile(path: place.path, context: context)
            return Response(status: .ok, headers: headers, body: body)
        }
        router.delete("pictures/:id") { request, context in
            try await press.deletePicture(context.objectID(Picture.self), if: IfMatch(request))
            return HTTPResponse.Status.noContent
        }
    }
}
