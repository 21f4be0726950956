@testable import Strata

/// The expected state of the contexts of a stack, computed without asking any of them: a list of edits for each
/// context, and the rows of the store. Deliberately slow and simple.
struct StockStateModel {
    /// A row of one of the models, which are numbered in the order of `stockModels`.
    struct Row {
        let entity: Int
        var values: [StoredValue]
    }

    enum Join: Int, CaseIterable {
        /// Items and their tags, which are ordered.
        case itemTags
        /// Houses and the positions of their shelves.
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

    /// An addition of a member, made by one context or by several that did not see each other.
    struct Addition {
        /// Counts the additions, in the same order as the ids of their rows.
        let row: Int
        var ids: Set<Int>
        var places: Places
        /// Whether a context has added or moved the member and not yet committed that.
        var isPending = true
        var isStored = false
    }

    enum Edit {
        case insert(Int64, Row)
        case set(Int64, Int, StoredValue)
        case delete(Int64)
        /// Adds a member. ``add(_:at:)`` sets the number of the addition.
        case pair(Pair, Places, as: Int = 0)
        /// Moves a member in the additions that the context sees.
        case place(Pair, Double, of: Set<Int> = [])
        /// Moves a member on both sides, because it was removed and added again.
        case places(Pair, Places, of: Set<Int>)
        /// Removes the additions of a member that the context sees. Other additions stay.
        case unpair(Pair, of: Set<Int> = [])
    }

    struct Entry {
        var edit: Edit
        /// The earlier value of a column that is set.
        var seen: StoredValue?
        /// The contexts whose commits include the edit.
        var provenance: Set<Int>
    }

    /// The state that one context sees.
    struct View {
        var rows: [Int64: Row] = [:]
        /// The additions of each member.
        var additions: [Pair: [Addition]] = [:]
        var pairs: [Pair: Places] { additions.compactMapValues { Self.shown($0)?.places } }

        /// The addition whose positions count: the last pending one, or the store's addition if none is pending.
        static func shown(_ additions: [Addition]?) -> Addition? {
            additions?.max { ($0.isPending ? 1 : 0, $0.row) < ($1.isPending ? 1 : 0, $1.row) }
        }

        /// Combines all additions of a member into one, as the store does.
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

        /// The rows of a model whose reference leads to this id.
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

    /// A reference: its model and column, the model that it leads to, and whether a delete there cascades here.
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
        var entry = Entry(edit: edit, provenance: [level])
        switch edit {
        case .pair(let pair, let places, _):
            takeBackRemoval(of: pair, at: level)
            if let known = View.shown(seen[pair]) {
                // This addition stayed behind when the member left through its to-one side.
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

    /// Forgets that a level has removed a member and not yet saved the removal. Adding the member again cancels the
    /// removal.
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

extension StockStateModel.Edit {
    /// The rows that an edit concerns.
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

extension StockStateModel.Row {
    var references: [Int64] {
        StockStateModel.references.filter { $0.entity == entity }.compactMap {
            if case .integer(let number) = values[$0.column] { number } else { nil }
        }
    }
}
