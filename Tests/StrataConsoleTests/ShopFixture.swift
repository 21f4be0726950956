import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import StoreModels
import Strata

@testable import StrataConsole

/// Models of an application.
enum Shop {
    @Model final class Shelf {
        @Attribute(.unique) var name: String
        @Relationship(inverse: \Book.shelf) var books: Many<Book>
    }

    @Model final class Book {
        var title: String
        var pages: Int = 0
        var cover: Data?
        var shelf: Shelf?
    }

    static let models: [any Model.Type] = [Shelf.self, Book.self]
}

/// A store of an application in a file, and consoles for it.
struct ShopFixture: Sendable {
    let folder: ScratchFolder

    init() throws { folder = try ScratchFolder() }

    var url: URL { folder.file("shop.sqlite") }

    /// - Parameter allowsUnopenedModels: whether the models may be some of those in the store, which must exist.
    func open(
        models: [any Model.Type] = Shop.models,
        allowsUnopenedModels: Bool = false,
        diagnostics: Diagnostics = Diagnostics()
    ) async throws -> ContextStack {
        try await ContextStack.open(
            .sqlite(url),
            models: models,
            stack: .rootOnly,
            configuration: StoreConfiguration(allowsUnopenedModels: allowsUnopenedModels),
            author: "editor",
            diagnostics: diagnostics
        )
    }

    /// Commits some books, each with its number as the pages.
    static func add(_ titles: [String], to stack: ContextStack) async throws {
        try await stack.background { context in
            for (index, title) in titles.enumerated() { context.insert(Shop.Book(title: title, pages: index + 1)) }
            try context.commit()
        }
    }

    /// Creates the store with a commit of books, and closes it.
    func make(_ titles: [String]) async throws {
        let stack = try await open()
        try await Self.add(titles, to: stack)
        try await stack.close()
    }

    /// Sends requests to a console in this process, and closes its stack.
    ///
    /// - Parameter models: the models of the console's stack. The pages of the store need none.
    func run(
        models: [any Model.Type] = [],
        diagnostics: Diagnostics = Diagnostics(),
        slowStatements: SlowStatements? = nil,
        _ body: @escaping @Sendable (any TestClientProtocol, ContextStack) async throws -> Void
    ) async throws {
        let stack = try await open(models: models, allowsUnopenedModels: true, diagnostics: diagnostics)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let console = StoreConsole(
            of: stack,
            options: ConsoleOptions(
                title: "Shop",
                authentication: .none,
                slowStatements: slowStatements,
                logger: logger
            )
        )
        let router = Router()
        console.addRoutes(to: router.group(RouterPath("")))
        try await Application(router: router, logger: logger).test(.router) { client in
            try await body(client, stack)
        }
        try await stack.close()
    }
}

extension TestResponse {
    /// The address of a link with these words, for a request.
    func link(_ title: String) -> String? {
        for match in text.matches(of: /<a href="([^"]+)"[^>]*>([^<]*)<\/a>/) where match.2 == title {
            return "/" + match.1.replacing("&amp;", with: "&").drop { $0 == "." || $0 == "/" }
        }
        return nil
    }

    /// The numbers that follow a text, in their order.
    func numbers(after beginning: String) -> [Int64] {
        text.split(separator: beginning).dropFirst().compactMap { Int64($0.prefix { $0.isNumber }) }
    }
}
