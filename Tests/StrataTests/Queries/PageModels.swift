import Foundation
import TestHomeTraits

@testable import Strata

// The models of the tests of pages: attributes of all kinds, with few values, so that many rows are equal.

enum PageKind: String, AttributeValue { case a, b, c }

@Model(.index("kind", "rank")) final class PageEntry {
    var title: String
    @Attribute(.indexed) var rank: Int = 0
    @Attribute(.indexed) var due: Date?
    var ratio: Double?
    var price: Decimal = 0
    var kind: PageKind = .a
    var data: Data = Data()
    var group: PageGroup?
}

@Model final class PageGroup {
    var name: String?
    @Relationship(inverse: \PageEntry.group, ordered: true) var entries: Many<PageEntry>
}

@Model final class PageText {
    @Attribute(.searchable) var text: String
    var rank: Int = 0
    var weight: Double = 0
}

/// Queries with orders of all kinds.
let pageOrders: [Query<PageEntry>] = {
    let entry = PageEntry.columns
    let sorts: [[SortKey<PageEntry>]] = [
        [],
        [entry.id.descending],
        [entry.rank.ascending],
        [entry.rank.descending],
        [entry.rank.descending, entry.id.descending],
        [entry.due.ascending],
        [entry.due.descending],
        [entry.due.ascending.nilsLast],
        [entry.due.descending.nilsFirst],
        [entry.kind.ascending, entry.rank.descending],
        [entry.due.descending, entry.ratio.ascending.nilsLast, entry.title.descending],
        [entry.ratio.descending.nilsFirst, entry.due.ascending],
        [entry.price.descending],
        [entry.title.ascending(.caseInsensitive)],
        [entry.data.ascending, entry.title.ascending],
        [entry.group.id.ascending],
        [entry.group.name.descending],
        [entry.group.name.ascending.nilsLast, entry.due.descending],
        [(entry.rank * 2).descending],
        [Column<PageEntry, Int>.sql("\(entry.rank) % 3").ascending],
    ]
    var orders = sorts.map { keys in PageEntry.sorted { _ in keys } }
    orders.append(PageEntry.where { $0.rank > 3 || $0.kind == .b }.sorted { $0.due.descending })
    orders.append(PageEntry.where { $0.kind == .c && $0.group.name != nil }.sorted { $0.rank })
    return orders
}()

extension PageEntry {
    /// Inserts entries whose values depend on their numbers only.
    static func insert(_ numbers: Range<Int>, into context: ObjectContext) throws {
        let groups = try context.fetch(PageGroup.all)
        for number in numbers {
            let entry = PageEntry(
                title: ["a", "A", "é", "e\u{301}", "a\u{0}b".storable, ""][number * 5 % 6],
                rank: number * 7 % 11,
                due: number % 5 == 0 ? nil : Date(timeIntervalSinceReferenceDate: Double(number * 31 % 13) / 8),
                ratio: number % 3 == 0 ? nil : Double(number % 4) / 10,
                price: Decimal(string: ["1", "1.0", "10", "9.99", "-0.5"][number % 5])!,
                kind: [PageKind.a, .b, .c][number % 3],
                data: Data([UInt8(number % 2)]),
                group: number % 4 == 3 || groups.isEmpty ? nil : groups[number % groups.count]
            )
            context.insert(entry)
        }
    }
}

/// A stack with entries in three groups.
func openPages(_ count: Int) async throws -> ContextStack {
    let stack = try await ContextStack.open(
        .inMemory,
        models: [PageEntry.self, PageGroup.self, PageText.self],
        stack: .rootOnly
    )
    try await stack.background { context in
        for name in ["x", nil, "y"] { context.insert(PageGroup(name: name)) }
        try PageEntry.insert(0..<count, into: context)
        try context.commit()
    }
    return stack
}
