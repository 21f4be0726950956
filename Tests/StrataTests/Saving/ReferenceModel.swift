/// The rules of saving (C16, C17, H18 to H22, H27) in their plainest form, to hold the engine against.
///
/// Each context has a list of entries for each row, one for each edit, in the order in which they were made or arrived.
/// What a context shows is the store's row with the entries of all levels down to its own applied one after the other.
/// Nothing is merged, indexed or cached.
///
/// Where the rules are open, this is what was decided:
/// - An edit of a column that a visible entry has changed already inherits the `stored` of the lowest of these entries:
///   nobody who made the value on top has seen what has come into the store since, so whoever commits is asked.
/// - A commit gives up the columns that `.theirs` decides against; what parents had beneath them stays with the parents.
/// - `.theirs` against a deleted-against-edited conflict gives up all that the level did to the row.
/// - `.mine` against a row deleted elsewhere brings it back: it cancels the parent's delete, and what was edited before that
///   counts again, or where there is no row beneath it brings it back whole, as this context last showed it.
/// - Edits of one context that bring a row back are one decision about it. Edits of a row that was brought back over a
///   delete inherit the `stored` of that delete: what has come into the store since, nobody could see.
/// - What a parent has set stays with it, with its old base, unless the committing side has seen and overwritten it. What
///   was seen of a row before it came into the store stands for what was stored.
/// - A row that goes along (H21) goes as the committing context's parent shows it; what parents have set in columns that
///   the committed changes have not touched goes with it.
/// - A delete of a row that a parent inserted withdraws the insert with everything else that the parents did to it.
/// - The levels of a chain meet each other as by saves, from the store's end up, and the store as by a commit. `.theirs`
///   gives up a delete that has not seen what lies beneath its own level, and with it what that level did to the row.
struct ReferenceModel {
    typealias Values = [Int]

    struct Edit {
        var value: Int
        var seen: Int
        /// Nil where the row was not in the store.
        var stored: Int?
    }

    enum Change {
        case insert(Values)
        /// The edits by column, and the whole row when it was last visible.
        case update([Int: Edit], row: Values)
        case delete(seen: Values, stored: [Int?])
    }

    struct Entry {
        var carriers: Set<String>
        var change: Change
        /// Whether an update brings its row back where there is none beneath it.
        var restores = false
        /// Whether what was done just before in its level was rolled back.
        var isParted = false
    }

    /// What a commit does to one row, all of its entries taken together.
    enum Net {
        case insert(Values)
        case update([Int: Edit], row: Values, restores: Bool)
        case delete(seen: Values, stored: [Int?])
        case withdrawn
    }

    static let columns = ["a", "b", "c"]

    /// From the store's end.
    let parents: [String: String]
    let order: [String]
    var store: [Int64: Values] = [:]
    var levels: [String: [Int64: [Entry]]] = [:]
    /// What each context can undo and redo.
    var undo: [String: UndoState] = [:]

    /// - Parameter tree: contexts with their parents, parents first.
    init(_ tree: [(name: String, parent: String?)]) {
        order = tree.map(\.name)
        parents = Dictionary(uniqueKeysWithValues: tree.compactMap { entry in entry.parent.map { (entry.name, $0) } })
    }

    func path(_ context: String) -> [String] { (parents[context].map { path($0) } ?? []) + [context] }

    // MARK: Reading

    static func apply(_ entries: [Entry], to row: Values?) -> Values? {
        entries.reduce(row) { shown, entry in
            switch entry.change {
            case .insert(let values): return values
            case .delete: return nil
            case .update(let edits, let row):
                guard var shown else { return entry.restores ? row : nil }
                for (column, edit) in edits { shown[column] = edit.value }
                return shown
            }
        }
    }

    /// A row as a context shows it, or the store where that is nil.
    func row(_ number: Int64, in context: String?) -> Values? {
        guard let context else { return store[number] }
        return path(context).reduce(store[number]) { Self.apply(levels[$1]?[number] ?? [], to: $0) }
    }

    func view(_ context: String) -> [Int64: Values] {
        let numbers = Set(store.keys).union(path(context).flatMap { levels[$0].map { Array($0.keys) } ?? [] })
        return Dictionary(
            uniqueKeysWithValues: numbers.compactMap { number in row(number, in: context).map { (number, $0) } }
        )
    }

    // MARK: Editing

    private func storedBase(_ number: Int64, _ column: Int, _ context: String) -> Int? {
        for level in path(context) {
            for entry in levels[level]?[number] ?? [] {
                switch entry.change {
                case .insert: return nil
                case .update(let edits, _): if let edit = edits[column] { return edit.stored ?? edit.seen }
                case .delete(let seen, let stored): return stored[column] ?? seen[column]
                }
            }
        }
        return store[number]?[column]
    }

    mutating func insert(_ number: Int64, _ values: Values, in context: String) {
        levels[context, default: [:]][number, default: []].append(
            Entry(carriers: [context], change: .insert(values))
        )
        record(.insert(number), in: context)
    }

    mutating func set(_ number: Int64, _ column: Int, _ value: Int, in context: String) {
        guard var shown = row(number, in: context), shown[column] != value else { return }
        let edit = Edit(value: value, seen: shown[column], stored: storedBase(number, column, context))
        let before = shown
        shown[column] = value
        record(.update(number, before: before, after: shown), in: context)
        levels[context, default: [:]][number, default: []].append(
            Entry(carriers: [context], change: .update([column: edit], row: shown))
        )
    }

    mutating func delete(_ number: Int64, in context: String) {
        guard let shown = row(number, in: context) else { return }
        let stored = shown.indices.map { storedBase(number, $0, context) }
        record(.delete(number, shown), in: context)
        levels[context, default: [:]][number, default: []].append(
            Entry(carriers: [context], change: .delete(seen: shown, stored: stored))
        )
    }

    /// A column that shows again what the lowest edit of it in a level has seen was not changed there (C8), unless different contexts
    /// have made these edits.
    mutating func takeOutSetBack(_ context: String) {
        for (number, entries) in levels[context] ?? [:] {
            guard entries.allSatisfy({ $0.isUpdate && !$0.restores }) else { continue }
            // An entry without edits had brought its row back, which has been there since by itself.
            var rest = entries.filter { !$0.edits.isEmpty }
            for column in Self.columns.indices {
                let edits = entries.compactMap { entry in entry.edits[column].map { (entry.carriers, $0) } }
                guard let first = edits.first, let last = edits.last, last.1.value == first.1.seen,
                    edits.allSatisfy({ $0.0 == first.0 })
                else { continue }
                rest = rest.compactMap { entry in
                    guard case .update(var edits, var row) = entry.change else { return entry }
                    let isLast = edits[column] != nil && edits.count == 1
                    edits[column] = nil
                    // A row that is gone beneath is shown with what was seen.
                    row[column] = first.1.seen
                    var entry = entry
                    entry.change = .update(edits, row: row)
                    return isLast ? nil : entry
                }
            }
            levels[context]?[number] = rest
        }
        tidy()
    }

    mutating func rollback(_ context: String, includingSaved: Bool = false, only: Set<Int64>? = nil) {
        if only == nil { undo[context] = nil }
        for number in levels[context]?.keys.sorted() ?? [] where only?.contains(number) ?? true {
            var kept: [Entry] = []
            var isParted = false
            for var entry in levels[context]?[number] ?? [] {
                if includingSaved || entry.carriers == [context] {
                    isParted = true
                    continue
                }
                entry.isParted = entry.isParted || isParted
                isParted = false
                kept.append(entry)
            }
            levels[context]?[number] = kept
        }
        tidy()
    }

    /// An entry that brings its row back cancels the deletes beneath it in its level. What one side has inserted and deleted in one level
    /// is gone, and stays so.
    ///
    /// One that the same side has deleted again brings nothing back.
    private static func withoutDeletesBeneathRestore(_ entries: [Entry]) -> [Entry] {
        var entries = entries
        for index in entries.indices.reversed() where entries[index].restores {
            let newer = entries[(index + 1)...].prefix { $0.carriers == entries[index].carriers }
            guard newer.last?.isDelete == true else { continue }
            entries[index].restores = false
            if entries[index].edits.isEmpty { entries.remove(at: index) }
        }
        guard let restore = entries.lastIndex(where: \.restores) else { return entries }
        for index in entries[..<restore].indices.reversed() where entries[index].isDelete {
            let isWithdrawn = entries[..<index].contains { $0.isInsert && $0.carriers == entries[index].carriers }
            if !isWithdrawn { entries.remove(at: index) }
        }
        return entries
    }

    /// Forgets empty lists and cancelled deletes, and notes how rows look while they are visible.
    mutating func tidy() {
        for context in order {
            for (number, entries) in levels[context] ?? [:] {
                if entries.isEmpty {
                    levels[context]?[number] = nil
                    continue
                }
                let entries = Self.withoutDeletesBeneathRestore(entries)
                levels[context]?[number] = entries
                var shown = row(number, in: parents[context])
                for (index, entry) in entries.enumerated() {
                    if shown != nil { levels[context]?[number]?[index].restores = false }
                    shown = Self.apply([entry], to: shown)
                    if case .update(let edits, _) = entry.change, let shown {
                        levels[context]?[number]?[index].change = .update(edits, row: shown)
                    }
                }
            }
        }
    }
}
