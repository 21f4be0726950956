import Foundation
import GRDB
import StoreModels
import Strata

/// The store of the guide: two authors and three articles in two commits.
enum Press {
    @Model final class Author {
        @Attribute(.unique) var name: String
        @Relationship(inverse: \Article.author) var articles: Many<Article>
    }

    @Model final class Article {
        var title: String
        var views: Int = 0
        var author: Author?
    }

    static let models: [any Model.Type] = [Author.self, Article.self]

    static func open(_ url: URL, models: [any Model.Type] = Press.models) async throws -> ContextStack {
        try await ContextStack.open(.sqlite(url), models: models, stack: .rootOnly, author: "editor")
    }

    /// Creates the store, and closes it.
    static func make(in folder: ScratchFolder) async throws -> URL {
        let url = folder.file("press.sqlite")
        let stack = try await open(url)
        try await stack.background { context in
            let ada = context.insert(Author(name: "Ada"))
            context.insert(Author(name: "Grace"))
            context.insert(Article(title: "Engines", views: 12, author: ada))
            context.insert(Article(title: "Notes", author: ada))
            try context.commit()
        }
        try await stack.background { context in
            context.insert(Article(title: "Compilers", views: 3))
            try context.commit()
        }
        try await stack.close()
        return url
    }

    /// Creates the store with a third author, whose commit is only in the journal, and without the index of the
    /// journal. Such files result from a copy of a running program's store.
    static func makeCopyWithoutIndex(in folder: ScratchFolder) async throws -> URL {
        let original = try ScratchFolder()
        let stack = try await open(try await make(in: original))
        try await stack.background { context in
            context.insert(Author(name: "Barbara"))
            try context.commit()
        }
        for name in ["press.sqlite", "press.sqlite-wal"] {
            try FileManager.default.copyItem(at: original.file(name), to: folder.file(name))
        }
        try await stack.close()
        withExtendedLifetime(original) {}
        return folder.file("press.sqlite")
    }

    /// Runs statements of another program.
    static func change(_ url: URL, _ statements: String...) throws {
        let queue = try DatabaseQueue(path: url.path, configuration: .waiting)
        try queue.writeWithoutTransaction { db in for statement in statements { try db.execute(sql: statement) } }
        try queue.close()
    }
}

/// A transaction of another program, which keeps all others from writing.
final class Blockade {
    private let queue: DatabaseQueue

    init(_ url: URL) throws {
        var configuration = Configuration.waiting
        configuration.allowsUnsafeTransactions = true
        queue = try DatabaseQueue(path: url.path, configuration: configuration)
        try queue.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
    }

    func end() throws {
        try queue.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        try queue.close()
    }
}

extension Configuration {
    /// A connection that waits while another one has locked the file.
    static var waiting: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        return configuration
    }
}

extension ScratchFolder {
    /// Every file in the folder with its bytes.
    func image() throws -> [String: Data] {
        var image: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: url.path) {
            image[name] = FileManager.default.contents(atPath: file(name).path) ?? Data()
        }
        return image
    }
}
