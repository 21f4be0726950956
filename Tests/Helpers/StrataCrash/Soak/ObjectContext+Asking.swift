import Foundation
import StoreModels
import Strata

extension ObjectContext {
    /// Asks many kinds of queries in this context, and compares the results with all of its rows. Returns the
    /// differences.
    func askAnything(_ dice: inout Dice) throws -> [String] {
        // A cursor moves the context to a newer snapshot, which all later queries use.
        var streamed: [Int64] = []
        try forEach(Item.all) { streamed.append($0.id.rawValue) }
        let rows = try rows(Item.all)
        let bound = dice.number(0..<100)
        var faults: [String] = []
        func check<Value: Equatable>(_ what: String, _ answer: Value, _ wanted: Value) {
            if answer != wanted { faults.append("\(what), \(bound): \(answer), not \(wanted)") }
        }
        func numbers(_ ids: [ObjectID<Item>]) -> [Int64] { ids.map(\.rawValue) }

        check("stream", streamed, rows.map(\.id.rawValue))
        let questions: [(Query<Item>, (Item.Row) -> Bool)] = [
            (Item.where { $0.value > bound }, { $0.value > bound }),
            (Item.where { $0.weight == nil || $0.weight > 50 }, { $0.weight == nil || $0.weight! > 50 }),
            (Item.where { $0.photo != nil && $0.value < bound }, { $0.photoSeed != 0 && $0.value < bound }),
            (Item.where { $0.kind == .toy && !($0.value == bound) }, { $0.kind == .toy && $0.value != bound }),
            (Item.where { $0.title.hasPrefix("tool item \(bound)") }, { $0.title.hasPrefix("tool item \(bound)") }),
            (Item.where { $0.label.contains("\(bound)") }, { $0.label.contains("\(bound)") }),
        ]
        let (query, isWanted) = dice.pick(questions)!
        let wanted = rows.filter(isWanted)
        check("fetch", numbers(try fetch(query).map(\.id)), numbers(wanted.map(\.id)))
        check("count", try count(query), wanted.count)
        check("exists", try exists(query), !wanted.isEmpty)
        check("sum", try sum(query, \.value), wanted.reduce(0) { $0 + $1.value })
        check("maximum", try maximum(query, \.value), wanted.map(\.value).max())
        check("column", try column(query, \.label), wanted.map(\.label))
        let sorted = wanted.sorted { ($0.value, $1.id.rawValue) > ($1.value, $0.id.rawValue) }
        let page = try ids(query.sorted { $0.value.descending }.offset(2).limit(5))
        check("page", numbers(page), numbers(sorted.dropFirst(2).prefix(5).map(\.id)))
        check("last", try last(query)?.id, wanted.last?.id)

        let kinds = try groups(query.grouped { $0.kind }) { ($0.count, $0.sum(\.value)) }
        for (kind, (count, sum)) in kinds {
            let members = wanted.filter { $0.kind == kind }
            check("group \(kind)", [count, sum], [members.count, members.reduce(0) { $0 + $1.value }])
        }
        check("groups", kinds.count, Set(wanted.map(\.kind)).count)
        let sections = try rowSections(query.sorted { $0.label }, by: \.kind)
        check("sections", sections.reduce(0) { $0 + $1.elements.count }, wanted.count)
        check(
            "sql",
            try values(Int.self, "SELECT count(*) FROM \(Item.self) AS a WHERE value > \(bound)").first,
            rows.filter { $0.value > bound }.count
        )
        faults += try askRelationships(bound)
        return faults
    }

    private func askRelationships(_ bound: Int) throws -> [String] {
        var faults: [String] = []
        let found = try ids(Soak.Shelf.where { $0.items.any { $0.value > bound } })
        let none = try ids(Soak.Tag.where { $0.items.none { $0.value > bound } })
        let sorted = try fetch(
            Item.where { $0.shelf.title.hasPrefix("shelf") && $0.value > bound }.including { $0.shelf }
        )
        var (wanted, wantedNone): ([ObjectID<Soak.Shelf>], [ObjectID<Soak.Tag>]) = ([], [])
        for shelf in try fetch(Soak.Shelf.all) where try shelf.items.fetch().contains(where: { $0.value > bound }) {
            wanted.append(shelf.id)
        }
        for tag in try fetch(Soak.Tag.including { $0.items })
        where try !tag.items.fetch().contains(where: { $0.value > bound }) {
            wantedNone.append(tag.id)
        }
        if found != wanted { faults.append("any, \(bound): \(found), not \(wanted)") }
        if none != wantedNone { faults.append("none, \(bound): \(none), not \(wantedNone)") }
        let placed = try fetch(Item.where { $0.value > bound }).filter { $0.shelf != nil }
        if sorted.map(\.id) != placed.map(\.id) {
            faults.append("through to one, \(bound): \(sorted.map(\.id)), not \(placed.map(\.id))")
        }
        return faults
    }
}
