import Foundation
public import Strata

extension SavingContext {
    private struct TakenBack: Error {}

    private func any<Object: Model>(_ model: Object.Type, _ dice: inout Dice) throws -> Object? {
        guard let id = dice.pick(try ids(Object.all)) else { return nil }
        return try find(id)
    }

    /// Makes a random edit.
    public func editAnything(_ dice: inout Dice) throws {
        let count = try count(Soak.Item.all)
        switch dice.number(0..<100) {
        case ..<12 where count < Soak.itemLimit: try insertItem(&dice)
        case ..<24: try any(Soak.Item.self, &dice)?.value = dice.number(0..<100)
        case ..<30:
            guard let item = try any(Soak.Item.self, &dice) else { return }
            (item.photoSeed, item.photo) = Self.photo(&dice)
        case ..<36:
            guard let item = try any(Soak.Item.self, &dice) else { return }
            item.kind = dice.pick(Soak.Kind.allCases)!
            item.weight = dice.chance(30) ? nil : Double(dice.number(0..<1000)) / 8
        case ..<40: try any(Soak.Item.self, &dice)?.label = Self.label(&dice)
        case ..<48: try any(Soak.Item.self, &dice)?.shelf = dice.chance(20) ? nil : try any(Soak.Shelf.self, &dice)
        case ..<54:
            guard let shelf = try any(Soak.Shelf.self, &dice) else { return }
            try editMembers(of: shelf.items, &dice)
        case ..<62:
            guard let list = try any(Soak.List.self, &dice) else { return }
            try editMembers(of: list.items, &dice)
        case ..<70:
            guard let item = try any(Soak.Item.self, &dice), let tag = try any(Soak.Tag.self, &dice) else { return }
            if dice.chance(50) { item.tags.insert(tag) } else { tag.items.remove(item) }
        case ..<74:
            guard let item = try any(Soak.Item.self, &dice) else { return }
            item.note =
                dice.chance(50) ? Soak.Note(text: "note \(dice.number(0..<100))") : try any(Soak.Note.self, &dice)
        case ..<78: try editSmallOnes(&dice)
        case ..<82:
            guard let shelf = try any(Soak.Shelf.self, &dice) else { return }
            shelf.keeper = dice.chance(20) ? nil : try any(Soak.Keeper.self, &dice)
        default: try deleteAnything(&dice, itemCount: count)
        }
    }

    private func insertItem(_ dice: inout Dice) throws {
        let (seed, photo) = dice.chance(40) ? Self.photo(&dice) : (0, nil)
        let item = Soak.Item(label: Self.label(&dice), value: dice.number(0..<100), photoSeed: seed, photo: photo)
        guard let shelf = try any(Soak.Shelf.self, &dice) else { return _ = insert(item) }
        if dice.chance(50) {
            shelf.items.insert(item)
        } else {
            item.shelf = shelf
            insert(item)
        }
    }

    /// A random label from a limited range, so that two items may get the same label.
    public static func label(_ dice: inout Dice) -> String { "item \(dice.number(0..<3000))" }

    public static func photo(_ dice: inout Dice) -> (Int, Data?) {
        if dice.chance(25) { return (0, nil) }
        // Processes with the same dice must not get the same seed.
        let seed = Int.random(in: 1...Int.max)
        return (seed, Soak.photo(seed))
    }

    private func editMembers(of members: Many<Soak.Item>, _ dice: inout Dice) throws {
        let found = try members.fetch()
        switch dice.number(0..<3) {
        case 0: if let item = try any(Soak.Item.self, &dice) { members.insert(item) }
        case 1: if let item = dice.pick(found) { members.remove(item) }
        default:
            if let item = dice.pick(found) { try members.move(item, before: dice.chance(30) ? nil : dice.pick(found)) }
        }
    }

    /// Edits objects other than items. New ones are inserted from time to time, so that there are always a few.
    private func editSmallOnes(_ dice: inout Dice) throws {
        switch dice.number(0..<4) {
        case 0: if try count(Soak.Keeper.all) < 8 { insert(Soak.Keeper(name: "keeper \(dice.number(0..<100))")) }
        case 1:
            if try count(Soak.Shelf.all) < 12 {
                insert(Soak.Shelf(title: "shelf \(dice.number(0..<100))", keeper: try any(Soak.Keeper.self, &dice)))
            }
        case 2: if try count(Soak.Tag.all) < 10 { insert(Soak.Tag(name: "tag \(dice.number(0..<100))")) }
        default: if try count(Soak.List.all) < 6 { insert(Soak.List(name: "list \(dice.number(0..<100))")) }
        }
    }

    private func deleteAnything(_ dice: inout Dice, itemCount: Int) throws {
        switch dice.number(0..<20) {
        case 0: try any(Soak.Keeper.self, &dice).map { delete($0) }
        case 1: try any(Soak.Shelf.self, &dice).map { delete($0) }
        case 2: try any(Soak.Tag.self, &dice).map { delete($0) }
        case 3: try any(Soak.List.self, &dice).map { delete($0) }
        case 4, 5: try any(Soak.Note.self, &dice).map { delete($0) }
        default: if itemCount > Soak.itemLimit / 3 { try any(Soak.Item.self, &dice).map { delete($0) } }
        }
    }

    // MARK: Undoing

    /// Edits in a savepoint, or in a nested one, that may throw. Afterwards a pinned context must have its earlier
    /// contents. Other contexts move to a newer snapshot, which may contain changes by other processes.
    public func tryInSavepoint(isPinned: Bool, _ dice: inout Dice) throws -> [String] {
        if isPinned && dice.chance(50) { try merge() }
        let before = try Soak.digest(self)
        let (throwsAtEnd, saves, isNested) = (dice.chance(60), dice.chance(30), dice.chance(30))
        do {
            try savepoint {
                for _ in 0..<dice.number(1..<6) { try editAnything(&dice) }
                if isNested {
                    try? savepoint {
                        for _ in 0..<3 { try editAnything(&dice) }
                        throw TakenBack()
                    }
                }
                if saves && hasParent { try save() }
                if throwsAtEnd { throw TakenBack() }
            }
            return []
        } catch is TakenBack {
            // A save merges, so the contents may change.
            if saves || !isPinned { return try Soak.inspect(self) }
        } catch let error as StrataError where saves && Soak.expected.contains(error.code) {
            return []
        }
        let after = try Soak.digest(self)
        return after == before ? [] : ["after a savepoint there is \(Soak.difference(after, from: before))"]
    }

    private var hasParent: Bool { handle.parent != nil }

    /// Expects that undo reverts a group of edits, and that redo repeats it. For pinned contexts.
    ///
    /// - Parameters:
    ///   - dice: choose the edits.
    ///   - details: returns lines about the context. If undo fails, the fault lists those that have changed since before
    ///     the edits.
    public func editAndUndo(
        _ dice: inout Dice,
        details: (ObjectContext) throws -> [String] = { _ in [] }
    ) throws -> [String] {
        let before = try Soak.digest(self)
        let detailsBefore = try details(self)
        try undoGroup { for _ in 0..<dice.number(1..<6) { try editAnything(&dice) } }
        let edited = try Soak.digest(self)
        let detailsEdited = try details(self)
        // Edits without a change do not form an undo group.
        guard edited != before else { return [] }
        var faults: [String] = []
        try undo()
        let undone = try Soak.digest(self)
        if undone != before {
            faults.append("after undo there is \(Soak.difference(undone, from: before))")
            let detailsUndone = try details(self)
            let same = Set(detailsBefore).intersection(detailsEdited).intersection(detailsUndone)
            for (moment, lines) in [("before", detailsBefore), ("edited", detailsEdited), ("undone", detailsUndone)] {
                faults.append("\(moment): \(lines.filter { !same.contains($0) }.joined(separator: ", "))")
            }
        }
        try redo()
        let redone = try Soak.digest(self)
        if redone != edited { faults.append("after redo there is \(Soak.difference(redone, from: edited))") }
        if dice.chance(50) { try undo() }
        return faults
    }

    // MARK: Saving

    public func saveOrCommit(_ dice: inout Dice) throws {
        mergePolicy = dice.pick(Soak.policies)!
        do {
            if dice.chance(50) { try commit() } else { try save() }
        } catch let error as StrataError where Soak.expected.contains(error.code) {
            // Sometimes the change stays, and a later step meets it again.
            if dice.chance(70) { rollback(includingSaved: dice.chance(50)) }
        }
    }
}
