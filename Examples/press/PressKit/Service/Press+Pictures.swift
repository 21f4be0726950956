import Foundation
import Strata
import StrataCloud
import StrataPipeline

extension Picture {
    /// The folder of an article's pictures in the tree.
    static func folder(of article: ObjectID<Article>) -> TreePath { TreePath(["articles", "\(article.rawValue)"]) }
}

extension Press {
    /// Checks that an article exists and may have another picture, before a client sends one. Another node may have
    /// added the article a moment ago.
    func checkPictures(of article: ObjectID<Article>) async throws {
        try await stack.background(reads: .newest) { context in
            guard try context.exists(Article.where { $0.id == article }) else { throw Problem.notFound }
            try checkPictureCount(of: article, in: context)
        }
    }

    private func checkPictureCount(of article: ObjectID<Article>, in context: ObjectContext) throws {
        let count = try context.count(Picture.where { $0.article == article })
        guard count < settings.maximumPicturesOfArticle else {
            throw Problem(.conflict, "The article already has \(count) pictures.")
        }
    }

    /// Adds a picture. One commit has its row, its node with the upload, and the operation that makes the preview. If
    /// other nodes share the store, the commit also has the bytes: another node may upload the picture, or serve it.
    func addPicture(_ received: ReceivedPicture, to article: ObjectID<Article>) async throws -> Picture.Row {
        do {
            let bytes = isShared ? try await pictures.bytes(of: received.file) : nil
            return try await stack.write { context in
                guard let found = try context.find(article) else { throw Problem.notFound }
                try checkPictureCount(of: article, in: context)
                let picture = context.insert(
                    Picture(file: received.file, size: received.size, type: received.type.rawValue, article: found)
                )
                try context.cloud(account).createNode(
                    at: Picture.folder(of: article).appending(received.file),
                    content: picture.id,
                    size: Int64(received.size)
                )
                if let bytes { context.insert(PictureContent(file: received.file, bytes: bytes)) }
                context.enqueue(MakePreview(picture: picture.id), in: .pictures, tags: ["picture"])
                return picture.snapshot
            }
        } catch {
            // If this fails too, the next start removes the file.
            try? pictures.remove(received.file)
            throw error
        }
    }

    func picture(_ id: ObjectID<Picture>) async throws -> Picture.Row {
        try await stack.background { context in try context.row(Picture.where { $0.id == id }) }
    }

    func allPictures(of article: ObjectID<Article>) async throws -> [Picture.Row] {
        try await stack.background { context in
            guard try context.exists(Article.where { $0.id == article }) else { throw Problem.notFound }
            return try context.rows(Picture.where { $0.article == article })
        }
    }

    func deletePicture(_ id: ObjectID<Picture>, if condition: IfMatch) async throws {
        try await stack.write { context in
            let picture = try context.object(id, if: condition)
            let cloud = context.cloud(account)
            if let node = try cloud.node(for: id) { try cloud.delete(node) }
            try context.removeBytes(of: picture)
            context.delete(picture)
        }
    }
}

extension ObjectContext {
    /// Removes the bytes of a picture from the store, and queues the removal of its file.
    func removeBytes(of picture: Picture) throws {
        let file = picture.file
        if let content = try first(PictureContent.where { $0.file == file }) { delete(content) }
        enqueue(RemoveFile(file: file), in: .pictures)
    }
}
