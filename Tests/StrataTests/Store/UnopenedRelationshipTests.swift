import Foundation
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

@Suite(
    "Relationships to models that are not opened",
    .aboutTheFile("opens some of the models, which a store with a home refuses"),
    .timeLimit(.minutes(2))
) struct UnopenedRelationshipTests {
    /// Runs a body with a market of which only some models are opened, and returns the tables of the others.
    @discardableResult
    private func withMarket(
        _ models: [any Model.Type] = [Market.Customer.self],
        _ body: nonisolated(nonsending) (ContextStack) async throws -> Void
    ) async throws -> (before: [String], after: [String]) {
        let folder = try ScratchFolder()
        let url = folder.file("market.sqlite")
        try await folder.with(url, Market.models) { try Market.fill($0) }
        let before = try others(folder, url)
        let stack = try await ContextStack.open(
            .sqlite(url),
            models: models,
            stack: .rootOnly,
            configuration: StoreConfiguration(allowsUnopenedModels: true)
        )
        try await body(stack)
        try await stack.close()
        return (before, try others(folder, url))
    }

    private func others(_ folder: ScratchFolder, _ url: URL) throws -> [String] {
        try ["Visit", "Memo", "Label", "Customer_labels", "Portrait", "Receipt"].flatMap {
            try folder.rows(url, "SELECT '\($0)', * FROM \"\($0)\"")
        }
    }

    private static func customer(_ name: String, _ context: ObjectContext) throws -> Market.Customer {
        try #require(try context.first(Market.Customer.where { $0.name == name }))
    }

    // MARK: Reading

    @Test("The id of an object of an unopened model is readable, and the object is not")
    func reading() async throws {
        try await withMarket { stack in
            var failures = stack.failures.makeAsyncIterator()
            try await stack.background { context in
                let customer = try Self.customer("portrait", context)
                let id = try #require(customer.snapshot.portrait)
                let found = try context.column(Market.Customer.where { $0.portrait == id }, \.name)
                #expect(found == ["portrait"])
                #expect(customer.portrait == nil)
                let error = #expect(throws: StrataError.self) { try context.find(id) }
                #expect(error?.code == .unknownModel)
            }
            let failure = await failures.next()
            #expect((failure?.error as? StrataError)?.code == .unknownModel)
        }
    }

    @Test("Members, queries and prefetches that lead to an unopened model throw unknownModel")
    func queries() async throws {
        try await withMarket { stack in
            try await stack.background { context in
                let customer = try Self.customer("purchase", context)
                let without = Market.Customer.where { $0.name == "nothing" }
                let reads: [(String, () throws -> Void)] = [
                    ("members", { _ = try customer.purchases.fetch() }),
                    ("many to many", { _ = try customer.labels.fetch() }),
                    ("count", { _ = try customer.purchases.count }),
                    ("any", { _ = try context.fetch(Market.Customer.where { $0.purchases.any { $0.number == 1 } }) }),
                    ("path", { _ = try context.fetch(Market.Customer.where { $0.portrait.file == "a.jpg" }) }),
                    ("prefetch", { _ = try context.fetch(Market.Customer.including { $0.purchases }) }),
                    ("prefetch of none", { _ = try context.fetch(without.including { $0.portrait }) }),
                    ("query", { _ = try context.fetch(Market.Purchase.all) }),
                    ("unreachable", { _ = try context.count(Market.Memo.all) }),
                ]
                for (name, read) in reads {
                    let error = #expect(throws: StrataError.self, "\(name)") { try read() }
                    #expect(error?.code == .unknownModel, "\(name): \(String(describing: error))")
                }
            }
        }
    }

    @Test("A relationship to an unopened model can be emptied, and a new object of that model refuses the commit")
    func writing() async throws {
        try await withMarket { stack in
            try await stack.background { context in
                let customer = try Self.customer("portrait", context)
                customer.portrait = nil
                try context.commit()
                #expect(customer.snapshot.portrait == nil)
                customer.portrait = Market.Portrait(file: "b.jpg")
                let error = #expect(throws: StrataError.self) { try context.commit() }
                #expect(error?.code == .unknownModel)
            }
        }
    }

    // MARK: Deleting

    private static func delete(_ name: String, inBatch: Bool, _ context: SavingContext) throws {
        if inBatch {
            try context.batchDelete(Market.Customer.where { $0.name == name })
            return
        }
        context.delete(try customer(name, context))
        try context.commit()
    }

    /// A customer, and the unopened model that its delete would concern.
    struct RefusedDelete: Sendable {
        let name: String
        let model: String
    }

    @Test(
        "A delete that would concern objects of an unopened model is refused, and the error names the model",
        arguments: [
            RefusedDelete(name: "purchase", model: "Purchase"), RefusedDelete(name: "receipt", model: "Purchase"),
            RefusedDelete(name: "memo", model: "Memo"), RefusedDelete(name: "label", model: "Label"),
            RefusedDelete(name: "portrait", model: "Portrait"),
        ],
        [false, true]
    )
    func refusedDelete(_ delete: RefusedDelete, inBatch: Bool) async throws {
        let (name, model) = (delete.name, delete.model)
        let tables = try await withMarket { stack in
            try await stack.background { context in
                let error = #expect(throws: StrataError.self) {
                    try Self.delete(name, inBatch: inBatch, context)
                }
                #expect(error?.code == .unopenedModel, "\(String(describing: error))")
                #expect(error?.details.map(\.model) == [model])
                #expect(error?.message.contains(model) == true)
            }
            let count = try await stack.background { try $0.count(Market.Customer.all) }
            #expect(count == 7)
        }
        #expect(tables.after == tables.before)
    }

    @Test(
        "A delete that concerns only opened models is made, and .noAction leaves its references",
        arguments: [false, true]
    )
    func delete(inBatch: Bool) async throws {
        let tables = try await withMarket([Market.Customer.self, Market.Purchase.self]) { stack in
            let names = ["nothing", "visit", "purchase"]
            let counts = try await stack.background { context in
                for name in names { try Self.delete(name, inBatch: inBatch, context) }
                return [try context.count(Market.Customer.all), try context.count(Market.Purchase.all)]
            }
            #expect(counts == [4, 1])
        }
        #expect(tables.after == tables.before)
    }

    @Test("A cascade over opened models is refused if it ends at an unopened one", arguments: [false, true])
    func cascade(inBatch: Bool) async throws {
        let tables = try await withMarket([Market.Customer.self, Market.Purchase.self]) { stack in
            try await stack.background { context in
                let error = #expect(throws: StrataError.self) {
                    try Self.delete("receipt", inBatch: inBatch, context)
                }
                #expect(error?.code == .unopenedModel)
                #expect(error?.details.map(\.model) == ["Receipt"])
                #expect(error?.details.first?.message.contains("refers to Purchase") == true)
            }
        }
        #expect(tables.after == tables.before)
    }

    // MARK: Lines of JSON

    @Test("An export contains the opened models, and an import keeps references to the others")
    func lines() async throws {
        try await withMarket { stack in
            var lines: [String] = []
            for try await line in stack.jsonLines() { lines.append(line) }
            #expect(lines.count == 7)
            let portrait = try #require(lines.first { $0.contains("\"name\":\"portrait\"") })
            #expect(portrait.contains("\"portrait\":\"Portrait-"))
            #expect(!lines.contains { $0.contains("labels") })
            let copy = portrait.replacing("\"name\":\"portrait\"", with: "\"name\":\"second\"")
            try await stack.importJSONLines([copy])
            let ids = try await stack.background { context in
                try ["portrait", "second"].map { try Self.customer($0, context).snapshot.portrait }
            }
            #expect(ids[0] != nil && ids[0] == ids[1])
        }
    }

    @Test("An import of objects of an unopened model, or of members that are such objects, is refused")
    func refusedLines() async throws {
        let tables = try await withMarket { stack in
            // The second line has the former name of the model.
            for line in [#"{"$model":"Label","text":"new"}"#, #"{"$model":"Tag","text":"new"}"#] {
                await expect(.invalidImport) { _ = try await stack.importJSONLines([line]) }
            }
            await expect(.unknownModel) {
                _ = try await stack.importJSONLines([#"{"$model":"Customer","name":"new","labels":[]}"#])
            }
        }
        #expect(tables.after == tables.before)
    }
}
