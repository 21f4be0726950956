import Strata

/// The rules of saving in their plainest form, as a reference for the engine.
///
/// Each context has a list of entries for each row, one for each edit, in the order in which they were made or arrived.
/// A context shows the store's row with the entries of all levels down to its own, applied one after the other. Nothing
/// is merged, indexed or cached.
///
/// If the rules leave a question open, these decisions apply:
/// - An edit of a column that a visible entry has changed already inherits the `stored` value of the lowest of these
///   entries. The author of the value on top has not seen later values of the store, so a commit reports the conflict.
/// - A commit drops the columns that `.theirs` decides against. The parents keep their values beneath these columns.
/// - `.theirs` against a conflict between a delete and an edit drops all changes of the level to the row.
/// - `.mine` against a row deleted elsewhere brings the row back. It cancels the parent's delete, and the edits made
///   before the delete count again. If there is no row beneath, the whole row comes back, as this context last showed
///   it.
/// - Edits of one context that bring a row back are one decision about it. Edits of a row that was brought back over a
///   delete inherit the `stored` value of that delete, because they could not see later values of the store.
/// - A parent's value stays with the parent, with its old base, unless the committing side has seen and overwritten it.
///   Values that were seen before a row came into the store count as its stored values.
/// - A commit that includes a row inserted by a parent writes the row as the committing context's parent shows it. This
///   includes the parents' values in columns that the committed changes have not touched.
/// - A delete of a row that a parent inserted cancels the insert and all other changes of the parents to the row.
/// - The levels of a chain meet each other as in saves, from the store's end up. They meet the store as in a commit.
///   `.theirs` drops a delete that has not seen the entries beneath its own level, and all changes of that level to the
///   row.
struct ReferenceModel {
    typealias Values = [Int]

    struct Edit {
        var value: Int
        var original: Int
        /// Nil if the row was not in the store.
        var storeOriginal: Int?
    }

    enum Change {
        case insert(Values)
        /// The edits by column, and the whole row when it was last visible.
        case update([Int: Edit], row: Values)
        case delete(original: Values, storeOriginal: [Int?])
    }

    struct Entry {
        var provenance: Set<String>
        var change: Change
        /// Whether an update brings its row back if there is no row beneath it.
        var restores = false
        /// Whether the entry just before it in its level was rolled back.
        var hasGapBelow = false
    }

    /// The effect of a commit on one row, with all entries combined.
    enum Net {
        case insert(Values)
        case update([Int: Edit], row: Values, restores: Bool)
        case delete(original: Values, storeOriginal: [Int?])
        case cancelledInsert
    }

    static let columns = ["a", "b", "c"]

    /// In order from the store's end.
    let parents: [String: String]
    let order: [String]
    var store: [Int64: Values] = [:]
    var levels: [String: [Int64: [Entry]]] = [:]
    /// The edits that each context can undo and redo.
    var undo: [String: UndoState] = [:]
    /// The policy of the last save in an open savepoint. The save takes place when the outermost savepoint returns.
    var postponedSave: MergePolicy?

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

    /// A row as a context shows it, or as it is in the store if the context is nil.
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

    /// The value of the store that the lowest entry of a column has seen; nil if the row was not in the store.
    func storedBase(_ number: Int64, _ column: Int, _ context: String) -> Int? {
        for level in path(context) {
            for entry in levels[level]?[number] ?? [] {
                switch entry.change {
                case .insert: return nil
                case .update(let edits, _): if let edit = edits[column] { return edit.storeOriginal ?? edit.original }
                case .delete(let original, let storeOriginal): return storeOriginal[column] ?? original[column]
                }
            }
        }
        return store[number]?[column]
    }

    mutating func insert(_ number: Int64, _ values: Values, in context: String) {
        levels[context, default: [:]][number, default: []].append(
            Entry(provenance: [context], change: .insert(values))
        )
        record(.insert(number), in: context)
    }

    mutating func set(_ number: Int64, _ column: Int, _ value: Int, in context: String) {
        guard var shown = row(number, in: context), shown[column] != value else { return }
        let edit = Edit(value: value, original: shown[column], storeOriginal: storedBase(number, column, context))
        let before = shown
        shown[column] = value
        record(.update(number, before: before, after: shown), in: context)
        levels[context, default: [:]][number, default: []].append(
            Entry(provenance: [context], change: .update([column: edit], row: shown))
        )
    }

    mutating func delete(_ number: Int64, in context: String) {
        guard let shown = row(number, in: context) else { return }
        let storeOriginal = shown.indices.map { storedBase(number, $0, context) }
        record(.delete(number, shown), in: context)
        levels[context, default: [:]][number, default: []].append(
            Entry(provenance: [context], change: .delete(original: shown, storeOriginal: storeOriginal))
        )
    }

    /// Removes the edits of a column that shows again the value seen by the level's lowest edit of it: such a column
    /// counts as unchanged. The edits stay if different contexts have made them.
    mutating func dropNoOpChanges(_ context: String) {
        for (number, entries) in levels[context] ?? [:] {
            guard entries.allSatisfy({ $0.isUpdate && !$0.restores }) else { continue }
            // An entry without edits once restored its row, which now exists without it.
            var rest = entries.filter { !$0.edits.isEmpty }
            for column in Self.columns.indices {
                let edits = entries.compactMap { entry in entry.edits[column].map { (entry.provenance, $0) } }
                guard let first = edits.first, let last = edits.last, last.1.value == first.1.original,
                    edits.allSatisfy({ $0.0 == first.0 })
                else { continue }
                rest = rest.compactMap { entry in
                    guard case .update(var edits, var row) = entry.change else { return entry }
                    let isLast = edits[column] != nil && edits.count == 1
                    edits[column] = nil
                    // A row that is gone beneath is shown with the value that was seen.
                    row[column] = first.1.original
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
            var hasGapBelow = false
            for var entry in levels[context]?[number] ?? [] {
                if includingSaved || entry.provenance == [context] {
                    hasGapBelow = true
                    continue
                }
                entry.hasGapBelow = entry.hasGapBelow || hasGapBelow
                hasGapBelow = false
                kept.append(entry)
            }
            levels[context]?[number] = kept
        }
        tidy()
    }

    /// An entry that restores its row cancels the deletes beneath it in its level, except deletes of rows that the same
    /// side has inserted in that level.
    ///
    /// A restore that the same side has deleted again restores nothing.
    private static func withoutDeletesBeneathRestore(_ entries: [Entry]) -> [Entry] {
        var entries = entries
        for index in entries.indices.reversed() where entries[index].restores {
            let newer = entries[(index + 1)...].prefix { $0.provenance == entries[index].provenance }
            guard newer.last?.isDelete == true else { continue }
            entries[index].restores = false
            if entries[index].edits.isEmpty { entries.remove(at: index) }
        }
        guard let restore = entries.lastIndex(where: \.restores) else { return entries }
        for index in entries[..<restore].indices.reversed() where entries[index].isDelete {
            let isWithdrawn = entries[..<index].contains { $0.isInsert && $0.provenance == entries[index].provenance }
            if !isWithdrawn { entries.remove(at: index) }
        }
        return entries
    }

    /// Removes empty lists and cancelled deletes, and records the values of rows while they are visible.
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
