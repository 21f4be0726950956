@testable import Strata

/// What the contexts of a stack must show, known without asking any of them: a list of edits for each context, and the
/// rows of the store. Deliberately slow and simple.
struct StockWorld {
    /// A row of one of the models, which are numbered in the order of `stockModels`.
    struct Row {
        let entity: Int
        var values: [StoredValue]
    }

    enum Join: Int, CaseIterable {
        /// Items and their tags, which are ordered.
        case itemTags
        /// Houses and the places of their shelves.
        case houseShelves

        var ends: (left: Int, right: Int) { self == .itemTags ? (0, 4) : (2, 1) }
        var table: String { self == .itemTags ? "StockItem_tags" : "StockHouse_shelves" }
    }

    struct Pair: Hashable {
        let join: Join
        let left: Int64
        let right: Int64
    }

    struct Places: Equatable {
        var left: Double
        var right: Double
    }

    /// A member as it was added: by one context, or by some that did not see each other.
    struct Addition {
        /// Counts the additions, as the ids of their rows do.
        let row: Int
        var ids: Set<Int>
        var places: Places
        /// Whether some context has added or moved it and not yet committed that.
        var isPending = true
        var isStored = false
    }

    enum Edit {
        case insert(Int64, Row)
        case set(Int64, Int, StoredValue)
        case delete(Int64)
        /// Adds a member. Which addition it is, ``add(_:at:)`` says.
        case pair(Pair, Places, as: Int = 0)
        /// Moves a member, of those additions that are seen.
        case place(Pair, Double, of: Set<Int> = [])
        /// Moves a member on both sides: it was removed and added again.
        case places(Pair, Places, of: Set<Int>)
        /// Removes a member, as far as its additions are seen: one that is not stays.
        case unpair(Pair, of: Set<Int> = [])
    }

    struct Entry {
        var edit: Edit
        /// Of a column that is set, what it was before.
        var seen: StoredValue?
        /// The contexts whose commits take it along.
        var carriers: Set<Int>
    }

    /// What somebody sees.
    struct View {
        var rows: [Int64: Row] = [:]
        /// Of each member its additions.
        var additions: [Pair: [Addition]] = [:]
        var pairs: [Pair: Places] { additions.compactMapValues { Self.shown($0)?.places } }

        /// The addition whose places count: of the pending ones the last one that was made, else that of the store.
        static func shown(_ additions: [Addition]?) -> Addition? {
            additions?.max { ($0.isPending ? 1 : 0, $0.row) < ($1.isPending ? 1 : 0, $1.row) }
        }

        /// To the store all additions of a member are one.
        mutating func mergeAdditions() {
            additions = additions.compactMapValues { additions in
                guard let shown = Self.shown(additions) else { return nil }
                // The row that the store had already, or else the one that was written first.
                let row = additions.first(where: \.isStored)?.row ?? additions.map(\.row).min() ?? shown.row
                let ids = Set(additions.flatMap(\.ids))
                return [Addition(row: row, ids: ids, places: shown.places, isPending: false, isStored: true)]
            }
        }

        mutating func apply(_ edit: Edit) {
            switch edit {
            case .insert(let number, let row): rows[number] = row
            case .set(let number, let column, let value): rows[number]?.values[column] = value
            case .delete(let number): rows[number] = nil
            case .pair(let pair, let places, let id):
                additions[pair, default: []].append(Addition(row: id, ids: [id], places: places))
            case .place(let pair, let place, let ids): change(pair, ids) { $0.left = place }
            case .places(let pair, let places, let ids): change(pair, ids) { $0 = places }
            case .unpair(let pair, let ids):
                additions[pair]?.removeAll { !$0.ids.isDisjoint(with: ids) }
                if additions[pair]?.isEmpty == true { additions[pair] = nil }
            }
        }

        private mutating func change(_ pair: Pair, _ ids: Set<Int>, _ body: (inout Places) -> Void) {
            guard let index = additions[pair]?.lastIndex(where: { !$0.ids.isDisjoint(with: ids) }) else { return }
            body(&additions[pair]![index].places)
            additions[pair]![index].isPending = true
        }

        func numbers(_ entity: Int) -> [Int64] { rows.filter { $0.value.entity == entity }.keys.sorted() }

        /// The rows of a model whose reference leads to a number.
        func referring(_ entity: Int, _ column: Int, to number: Int64) -> [Int64] {
            numbers(entity).filter { rows[$0]?.values[column] == .integer(number) }
        }
    }

    struct Level {
        let parent: Int?
        let readsCommitted: Bool
        var entries: [Entry] = []
    }

    var store = View()
    var levels: [Int: Level] = [:]

    /// A reference: the model and column where it is, the model that it leads to, and whether a delete there goes on here.
    typealias Reference = (entity: Int, column: Int, destination: Int, cascades: Bool)
    static let references: [Reference] = [
        (0, column("shelf", of: 0), 1, false), (1, column("house", of: 1), 2, true),
        (3, column("item", of: 3), 0, false),
    ]

    static func column(_ name: String, of entity: Int) -> Int {
        stockModels[entity]._$schema.columns.firstIndex { $0.name == name } ?? -1
    }

    func path(_ level: Int) -> [Int] { (levels[level]?.parent.map { path($0) } ?? []) + [level] }

    func view(_ level: Int) -> View {
        var view = store
        for context in levels[level]?.readsCommitted == true ? [level] : path(level) {
            for entry in levels[context]?.entries ?? [] { view.apply(entry.edit) }
        }
        return view
    }

    private var lastAddition = 0

    mutating func add(_ edit: Edit, at level: Int) {
        let seen = view(level).additions
        var edit = edit
        var entry = Entry(edit: edit, carriers: [level])
        switch edit {
        case .pair(let pair, let places, _):
            takeBackRemoval(of: pair, at: level)
            if let known = View.shown(seen[pair]) {
                // Left behind where the member went by its to-one side.
                if known.places.left == places.left { return }
                edit = .place(pair, places.left, of: known.ids)
            } else if let known = View.shown(view(level).additions[pair]) {
                if known.places == places { return }
                edit = .places(pair, places, of: known.ids)
            } else {
                lastAddition += 1
                edit = .pair(pair, places, as: lastAddition)
            }
        case .place(let pair, let place, _): edit = .place(pair, place, of: View.shown(seen[pair])?.ids ?? [])
        case .unpair(let pair, _): edit = .unpair(pair, of: Set((seen[pair] ?? []).flatMap(\.ids)))
        case .set(let number, let column, _): entry.seen = view(level).rows[number]?.values[column]
        default: break
        }
        entry.edit = edit
        levels[level]?.entries.append(entry)
    }

    /// Forgets that a level has removed a member and not yet saved that: to add it again is to take that back.
    private mutating func takeBackRemoval(of pair: Pair, at level: Int) {
        var own: Set<Int> = []
        for (index, entry) in (levels[level]?.entries ?? []).enumerated() {
            if case .pair(pair, _, let id) = entry.edit { own.insert(id) }
            if case .unpair(pair, let ids) = entry.edit, !ids.isSubset(of: own) {
                levels[level]?.entries.remove(at: index)
                return
            }
        }
    }
}

extension StockWorld.Edit {
    /// The rows that an edit is about.
    var numbers: [Int64] {
        switch self {
        case .insert(let number, let row): [number] + row.references
        case .set(let number, _, .integer(let value)): [number, value]
        case .set(let number, _, _), .delete(let number): [number]
        case .pair(let pair, _, _), .place(let pair, _, _), .places(let pair, _, _), .unpair(let pair, _):
            [pair.left, pair.right]
        }
    }
}

extension StockWorld.Row {
    var references: [Int64] {
        StockWorld.references.filter { $0.entity == entity }.compactMap {
            if case .integer(let number) = values[$0.column] { number } else { nil }
        }
    }
}
