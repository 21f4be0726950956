import CloudScenarios
import Foundation
import Hummingbird
import HummingbirdTesting
import Strata
import StrataCloud
import Testing

@testable import StrataConsole

@Suite("Pages of accounts", .timeLimit(.minutes(1))) struct AccountPageTests {
    /// Creates a store with a letter at the remote that is marked for download, and another one that waits for its
    /// upload.
    private static func make() async throws -> ShopFixture {
        let shop = try ShopFixture()
        _ = try await Letters.make(in: shop.folder, file: shop.url.lastPathComponent, waiting: "<grace>.txt")
        return shop
    }

    @Test("Accounts, one folder at a time, and transfers are shown")
    func pages() async throws {
        try await Self.make().run(models: CloudAccount.models) { client, _ in
            let accounts = try await client.get("/accounts")
            #expect(accounts.status == .ok)
            #expect(accounts.link("alice") == "/tree?account=alice")
            let root = try await client.get("/tree?account=alice")
            let address = try #require(root.link("letters/"))
            let letters = try await client.get(address)
            #expect(letters.status == .ok)
            #expect(letters.link("ada.txt") != nil && letters.text.contains("&lt;grace&gt;.txt"))
            #expect(letters.text.contains(">1 pending</span>") && letters.text.contains(">data</span>"))
            #expect(letters.link("home") != nil && letters.link("inbox") != nil)
            // The store has one account, so it need not be named.
            let transfers = try await client.get("/transfers")
            #expect(transfers.text.contains("<td>upload</td>") && transfers.text.contains("<td>download</td>"))
            #expect(transfers.text.contains("2.0 KiB"))
            let conflicts = try await client.get("/conflicts")
            #expect(conflicts.text.contains("The account has no conflicts."))
        }
    }

    @Test("Transfers of a damaged store whose folders form a ring are shown")
    func ring() async throws {
        let shop = try await Self.make()
        let stack = try await shop.open(models: CloudAccount.models)
        try stack.transact(author: "test") { transaction in
            try transaction.run("UPDATE CloudNode SET parent = id WHERE name = 'letters'")
        }
        try await stack.close()
        try await shop.run(models: CloudAccount.models) { client, _ in
            let transfers = try await client.get("/transfers")
            #expect(transfers.status == .ok)
            #expect(transfers.text.contains("<td>upload</td>") && transfers.text.contains("<td>download</td>"))
        }
    }

    @Test("A large folder is paged by name, while nodes come and go")
    func paging() async throws {
        let shop = try await Self.make()
        let stack = try await shop.open(models: CloudAccount.models)
        try await stack.background { context in
            let cloud = try context.cloud(accountID: "alice")
            for number in 100..<230 { _ = try cloud.createNode(at: TreePath(["many", "n\(number)"])) }
            try context.commit()
        }
        try await stack.close()
        try await shop.run(models: CloudAccount.models) { client, stack in
            let root = try await client.get("/tree?account=alice")
            let address = try #require(root.link("many/"))
            let first = try await client.get(address)
            #expect(first.link("n100") != nil && first.link("n199") != nil && first.link("n200") == nil)
            let next = try #require(first.link("Next"))
            try await stack.background { context in
                let cloud = try context.cloud(accountID: "alice")
                _ = try cloud.createNode(at: "/many/a")
                try cloud.delete(cloud.node(at: "/many/n199"))
                try context.commit()
            }
            let second = try await client.get(next)
            #expect(second.link("n199") == nil && second.link("n200") != nil && second.link("n229") != nil)
            #expect(second.link("Next") == nil && second.link("First") != nil)
        }
    }

    @Test("A conflict is shown with both versions, at its node and in the list of accounts")
    func conflict() async throws {
        let shop = try await Self.make()
        // Another client changes the letter.
        let letter = Letters.remote(in: shop.folder).appending(path: "home/letters/ada.txt")
        try Data("Dear Ada".utf8).write(to: letter)
        let stack = try await shop.open(models: CloudAccount.models)
        try await stack.background { context in
            let cloud = try context.cloud(accountID: "alice")
            try cloud.upload(cloud.node(at: "/letters/ada.txt"))
            try context.commit()
        }
        let handler = Letters.Handler(text: "Hello again!")
        let account = try await Letters.account(stack, in: shop.folder, handler: handler)
        // The upload waits for a decision.
        await #expect(throws: CloudError.self) { try await account.waitUntilIdle() }
        await account.close()
        try await stack.close()
        try await shop.run(models: CloudAccount.models) { client, _ in
            let accounts = try await client.get("/accounts")
            #expect(accounts.link("1") == "/conflicts?account=alice")
            let conflicts = try await client.get("/conflicts?account=alice")
            let address = try #require(conflicts.link("/letters/ada.txt"))
            let node = try await client.get(address)
            #expect(node.text.contains("The node is a file.") && node.text.contains("mark-warning"))
        }
    }

    @Test("Stores without accounts, unknown accounts and unknown nodes get an explanation")
    func missing() async throws {
        let shop = try ShopFixture()
        try await shop.make(["a"])
        try await shop.run(models: Shop.models) { client, _ in
            for path in ["/accounts", "/tree", "/transfers", "/conflicts"] {
                let page = try await client.get(path)
                #expect(page.status == .ok)
                #expect(page.text.contains("This page needs the models of accounts."))
            }
        }
        let empty = try ShopFixture()
        try await empty.open(models: CloudAccount.models).close()
        try await empty.run(models: CloudAccount.models) { client, _ in
            for path in ["/accounts", "/tree", "/transfers", "/conflicts"] {
                let page = try await client.get(path)
                #expect(page.status == .ok)
                #expect(page.text.contains("The store has no accounts."))
            }
            #expect(try await client.get("/tree?account=carol").status == .notFound)
            #expect(try await client.get("/transfers?account=carol").status == .notFound)
            #expect(try await client.get("/conflicts?account=carol").status == .notFound)
        }
        try await Self.make().run(models: CloudAccount.models) { client, _ async throws in
            #expect(try await client.get("/tree?account=alice&node=999999").status == .notFound)
            #expect(try await client.get("/tree?account=alice&node=\(Int64.max)").status == .badRequest)
        }
    }

    @Test("With several accounts, the pages of one account ask which one")
    func choice() async throws {
        let shop = try await Self.make()
        let stack = try await shop.open(models: CloudAccount.models)
        let bob = try await Letters.account(stack, in: shop.folder, id: "bob")
        await bob.close()
        try await stack.close()
        try await shop.run(models: CloudAccount.models) { client, _ in
            for path in ["/tree", "/transfers", "/conflicts"] {
                let page = try await client.get(path)
                #expect(page.text.contains("Choose an account"))
                #expect(page.link("bob") == "\(path)?account=bob")
            }
            let accounts = try await client.get("/accounts?after=1")
            #expect(accounts.status == .ok)
        }
    }
}
