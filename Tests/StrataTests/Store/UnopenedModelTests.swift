import Foundation
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

@Suite(
    "Opening with some of the models",
    .aboutTheFile("opens some of the models, which a store with a home refuses"),
    .timeLimit(.minutes(2))
) struct UnopenedModelTests {
    private static let some = StoreConfiguration(allowsUnopenedModels: true)

    private func makeShop(in folder: ScratchFolder) async throws -> URL {
        let url = folder.file("market.sqlite")
        try await folder.with(url, Market.models) { try Market.fill($0) }
        return url
    }

    private func open(
        _ url: URL,
        _ models: [any Model.Type],
        _ migration: Migration = Migration(),
        configuration: StoreConfiguration = Self.some
    ) async throws -> ContextStack {
        try await ContextStack.open(
            .sqlite(url),
            models: models,
            stack: .rootOnly,
            configuration: configuration,
            migration: migration
        )
    }

    /// All that the store records about its schema, and the number of its migrations.
    private func schema(_ folder: ScratchFolder, _ url: URL) throws -> [String] {
        try folder.rows(url, "SELECT name, sql FROM sqlite_schema ORDER BY name")
            + folder.rows(url, "SELECT * FROM strata_schema") + folder.rows(url, "SELECT * FROM strata_layout")
            + folder.rows(url, "SELECT * FROM strata_steps")
            + folder.rows(url, "SELECT max(migrations) FROM strata_history")
    }

    /// Expects that opening is refused, and that every file stays as it is.
    private func expectRefusal(
        _ url: URL,
        in folder: ScratchFolder,
        _ models: [any Model.Type],
        _ migration: Migration = Migration(),
        _ code: StrataError.Code = .schemaMismatch,
        naming text: String,
        configuration: StoreConfiguration = Self.some,
        location: SourceLocation = #_sourceLocation
    ) async throws {
        let before = try folder.image()
        do {
            let stack = try await open(url, models, migration, configuration: configuration)
            try await stack.close()
            Issue.record("The store was opened.", sourceLocation: location)
        } catch let error as StrataError {
            #expect(error.code == code, "\(error)", sourceLocation: location)
            #expect(error.message.contains(text), "\(error)", sourceLocation: location)
        }
        #expect(try folder.image() == before, sourceLocation: location)
    }

    // MARK: Opening

    @Test("Some models are read and written, and the schema and the rows of the others stay as they are")
    func others() async throws {
        let folder = try ScratchFolder()
        let url = try await makeShop(in: folder)
        let before = try schema(folder, url)
        let purchases = try folder.rows(url, "SELECT * FROM Purchase")
        let stack = try await open(url, [Market.Customer.self, Market.Product.self])
        try await stack.background { context in
            try #require(try context.first(Market.Customer.where { $0.name == "purchase" })).points = 7
            context.insert(Market.Product(name: "ink"))
            context.insert(Market.Customer(name: "new"))
            try context.commit()
            try context.batchUpdate(Market.Customer.all) { $0.points.set(to: $0.points + 1) }
        }
        try await stack.close()
        #expect(try schema(folder, url) == before)
        #expect(try folder.rows(url, "SELECT * FROM Purchase") == purchases)
        let points = try await folder.with(url, Market.models) { context in
            try context.first(Market.Purchase.where { $0.number == 1 })?.customer?.points
        }
        #expect(points == 8)
        #expect(try schema(folder, url) == before)
    }

    @Test("Without the setting, a store with other models is refused, and so is a model without its destinations")
    func withoutSetting() async throws {
        let folder = try ScratchFolder()
        let url = try await makeShop(in: folder)
        let usual = StoreConfiguration()
        try await expectRefusal(
            url,
            in: folder,
            [Market.Product.self],
            naming: "Customer is in the store",
            configuration: usual
        )
        try await expectRefusal(
            url,
            in: folder,
            [Market.Customer.self],
            Migration(),
            .invalidSchema,
            naming: "refers to Portrait",
            configuration: usual
        )
    }

    @Test("A stack with all models and a stack with some accept each other's commits, without a migration")
    func sideBySide() async throws {
        let folder = try ScratchFolder()
        let url = try await makeShop(in: folder)
        let all = try await open(url, Market.models, configuration: StoreConfiguration())
        let some = try await open(url, [Market.Customer.self])
        let token = some.historyToken
        for round in 1...3 {
            try await all.background { context in
                context.insert(Market.Memo(text: "\(round)"))
                context.insert(Market.Product(name: "\(round)"))
                try context.commit()
            }
            try await some.background { context in
                try #require(try context.first(Market.Customer.where { $0.name == "memo" })).points += 1
                try context.commit()
            }
            let points = try await all.background { context in
                try context.first(Market.Memo.where { $0.text == "late" })?.customer?.points
            }
            #expect(points == round)
        }
        let history = try await some.history(since: token)
        let round = [["Memo", "Product"], ["Customer"]]
        #expect(history.map(\.tables) == round + round + round)
        #expect(history.first?.of(Market.Memo.self).inserted.count == 1)
        try await some.close()
        try await all.close()
    }

    @Test("Opened models that differ from the store are refused, and nothing is created, migrated or dropped")
    func differentModels() async throws {
        let folder = try ScratchFolder()
        let url = try await makeShop(in: folder)
        try await expectRefusal(
            url,
            in: folder,
            [LaterMarket.Product.self],
            naming: "Product.color is not in the store"
        )
        try await expectRefusal(
            url,
            in: folder,
            [LaterMarket.Product.self],
            naming: "If an earlier version of this program has written the store, open it once with all models. "
                + "Otherwise, open it with the models of the program that has written it:"
        )
        try await expectRefusal(
            url,
            in: folder,
            [Market.Product.self, LaterMarket.Voucher.self],
            Migration().dropping("Customer", "Memo"),
            naming: "Voucher is not in the store"
        )
    }

    @Test("A migration of the other models is not needed, and steps that are named decide")
    func steps() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("market.sqlite")
        let first = Migration(version: 3).step("first") { _ in }
        try await folder.with(url, Market.models, first) { try Market.fill($0) }
        try await open(url, [Market.Product.self]).close()
        try await open(url, [Market.Product.self], first.dropping("Customer")).close()
        try await expectRefusal(
            url,
            in: folder,
            [Market.Product.self],
            first.step("second") { _ in },
            naming: "the step 'second' has not run"
        )
        try await expectRefusal(
            url,
            in: folder,
            [Market.Product.self],
            Migration(version: 2),
            .newerStore,
            naming: "has run the steps 'first'"
        )
        let count = try await folder.with(url, Market.models, first) { try $0.count(Market.Customer.all) }
        #expect(count == 7)
    }

    @Test("A store that does not exist is not created")
    func missingStore() async throws {
        let folder = try ScratchFolder()
        try await expectRefusal(
            folder.file("new.sqlite"),
            in: folder,
            [Market.Product.self],
            Migration(),
            .notAStore,
            naming: "There is no store yet"
        )
    }

    @Test("A read-only stack opens some models, and follows the commits of a stack with all models")
    func readOnly() async throws {
        let folder = try ScratchFolder()
        let url = try await makeShop(in: folder)
        let all = try await open(url, Market.models, configuration: StoreConfiguration())
        let some = try await open(
            url,
            [Market.Product.self],
            configuration: StoreConfiguration(isReadOnly: true, allowsUnopenedModels: true)
        )
        var products = try some.live(Market.Product.all).makeAsyncIterator()
        #expect(try await products.next()?.count == 1)
        try await all.background { context in
            context.insert(Market.Memo(text: "unseen"))
            try context.commit()
            context.insert(Market.Product(name: "ink"))
            try context.commit()
        }
        #expect(try await products.next()?.count == 2)
        await expect(.readOnly) { try await some.write { _ = $0.insert(Market.Product(name: "no")) } }
        try await some.close()
        try await all.close()
    }

    @Test("A copy of a store gets a new fingerprint although only some models are opened")
    func copy() async throws {
        let folder = try ScratchFolder()
        let url = try await makeShop(in: folder)
        let copy = folder.file("copy.sqlite")
        try FileManager.default.copyItem(at: url, to: copy)
        let before = try schema(folder, copy)
        let (original, some) = (try await open(url, [Market.Product.self]), try await open(copy, [Market.Product.self]))
        #expect(original.core.engine.identity.fingerprint != some.core.engine.identity.fingerprint)
        try await original.close()
        try await some.close()
        #expect(try schema(folder, copy) == before)
    }

    @Test("A stack with some models writes beside a process that works with all of them and is killed")
    func process() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let before = try schema(folder, url)
        let some = try await open(url, [Account.self])
        let child = try HelperProcess("transfer", url.path)
        var positions: [Int] = []
        for round in 1...20 {
            positions.append(Int(try await child.next().split(separator: " ").first ?? "") ?? 0)
            try await some.write { context in
                try #require(try context.first(Account.where { $0.name == "account 0" })).note = "round \(round)"
            }
        }
        child.kill()
        await child.wait()
        let notes = try await some.background { try $0.column(Account.where { $0.note != "" }, \.note) }
        #expect(notes == ["round 20"])
        try await some.close()
        let bank = try await openBank(url)
        try await expectBalancedBooks(bank)
        let last = try await bank.background { try $0.first(StoreModels.Counter.all)?.last ?? 0 }
        #expect(last >= positions.max() ?? 0)
        try await bank.close()
        #expect(try schema(folder, url) == before)
    }
}
