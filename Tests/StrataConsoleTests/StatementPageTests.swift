import Hummingbird
import HummingbirdTesting
import Strata
import Testing

@testable import StrataConsole

@Suite("The page of slow statements", .timeLimit(.minutes(1))) struct StatementPageTests {
    @Test("Without a collection, the page says how to pass one")
    func none() async throws {
        let shop = try ShopFixture()
        try await shop.make(["a"])
        try await shop.run { client, _ in
            let page = try await client.get("/statements")
            #expect(page.status == .ok)
            #expect(page.text.contains("SlowStatements()") && page.text.contains("slowStatementThreshold"))
        }
    }

    @Test("Statements are shown with counts and plans, and without values")
    func statements() async throws {
        let shop = try ShopFixture()
        try await shop.make(["a"])
        let collection = SlowStatements()
        // Every statement is slow.
        let diagnostics = Diagnostics(slowStatementThreshold: .zero, slowStatements: collection)
        try await shop.run(
            models: Shop.models,
            diagnostics: diagnostics,
            slowStatements: collection
        ) { client, stack in
            collection.removeAll()
            try await stack.background { context in
                context.insert(Shop.Book(title: "secret bound"))
                try context.commit()
                for title in ["secret one", "secret two"] {
                    let text = "SELECT count(*) AS many FROM Book WHERE title = '\(title)'"
                    _ = try context.rows(SQL(stringLiteral: text))
                }
            }
            let page = try await client.get("/statements")
            #expect(page.status == .ok)
            #expect(page.text.contains("SELECT count(*) AS many FROM Book WHERE title = ?"))
            #expect(page.text.contains("SCAN Book"))
            #expect(!page.text.contains("secret"))
        }
    }
}
