import Foundation
import Testing

@testable import Strata

/// The query plans of SQLite for queries over pending changes.
///
/// With `STRATA_QUERY_TIMES` in the environment the test also prints plans and times: 1,000 pending changes in each of
/// two layers over 20,000 rows, against the same queries on tables without pending changes.
@Suite struct OverlayPlanTests {
    private struct Question {
        let name: String
        let query: Query<StockItem>
        let shape: ResultShape
    }

    private func questions(_ number: Int64, _ fingerprint: UInt16) -> [Question] {
        let id = ObjectID<StockItem>(rawValue: number, fingerprint: fingerprint)
        return [
            Question(name: "all", query: .init(), shape: .objects),
            Question(name: "first 10", query: .init(), shape: .first(10)),
            Question(name: "id", query: StockItem.where { $0.id == id }, shape: .objects),
            Question(name: "index", query: StockItem.where { $0.rank == 77 }, shape: .objects),
            Question(name: "to-one", query: StockItem.where { $0.shelf.floor == 3 }, shape: .count),
            Question(name: "any", query: StockItem.where { $0.tags.any { $0.name == "x" } }, shape: .count),
            Question(name: "count", query: .init(), shape: .count),
        ]
    }

    private func sources(_ context: ObjectContext, isPending: Bool) -> SQLSources {
        let schema = context.store.schema
        guard isPending else {
            return .tables(resolver: schema.resolver, identity: context.store.identity)
        }
        return SQLSources(
            source: { table in
                switch table {
                case .model(let model): schema.info(named: model.name).map { Overlay.source($0) } ?? ""
                case .join(let name): schema.info(ofTable: name).map { Overlay.source($0) } ?? ""
                }
            },
            resolver: schema.resolver,
            identity: context.store.identity
        )
    }

    @Test("Queries over pending changes look up by id and by index")
    func plans() async throws {
        let isTimed = ProcessInfo.processInfo.environment["STRATA_QUERY_TIMES"] != nil
        let (rows, edits) = isTimed ? (20_000, 1_000) : (200, 20)
        let stack = try await ContextStack.open(.inMemory, models: stockModels, stack: .rootOnly)
        let numbers = try await stack.on(.root) { context in
            let shelves = (0..<10).map { context.insert(StockShelf(title: "s", floor: $0)) }
            let tag = context.insert(StockTag(name: "x"))
            let items = (0..<rows).map { index in
                context.insert(StockItem(name: "n\(index)", rank: index, shelf: shelves[index % 10]))
            }
            for item in items.prefix(edits) { item.tags.insert(tag) }
            try context.commit()
            for index in 0..<edits { items[index * 3 % rows].size = index }
            return items.map(\.id.rawValue)
        }
        let child = try stack.push(.private)
        let isFast = try await child.perform { context in
            for index in 0..<edits {
                let id = ObjectID<StockItem>(
                    rawValue: numbers[index * 7 % rows],
                    fingerprint: context.store.ids.fingerprint
                )
                try context.find(id)?.ratio = 1
            }
            context.publish()
            let connection = try context.currentSnapshot().reader.connection
            var isFast = true
            for question in questions(numbers[5], context.store.ids.fingerprint) {
                var times: [Double] = []
                for isPending in [false, true] {
                    let compiled = try question.query.compile(
                        question.shape,
                        using: sources(context, isPending: isPending)
                    )
                    var plan: [String] = []
                    try connection.statement("EXPLAIN QUERY PLAN " + compiled.sql).run(compiled.bindings) {
                        plan.append($0.string(at: 3))
                    }
                    if ["id", "index"].contains(question.name) {
                        isFast = isFast && !plan.contains { $0.hasPrefix("SCAN StockItem") }
                    }
                    guard isTimed else { continue }
                    let start = ContinuousClock.now
                    for _ in 0..<5 { try connection.statement(compiled.sql).run(compiled.bindings) { _ in } }
                    times.append((ContinuousClock.now - start) / .milliseconds(5))
                    if isPending { print(question.name, times, plan, separator: "\n  ") }
                }
            }
            return isFast
        }
        #expect(isFast)
        try await stack.close()
    }
}
