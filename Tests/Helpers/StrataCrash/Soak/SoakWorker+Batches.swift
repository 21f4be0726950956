import Foundation
import StoreModels
import Strata

extension SoakWorker {
    /// A batch of any kind.
    func batch(_ dice: Dice) async throws {
        var dice = dice
        let name = dice.pick([ContextName.root, .desk, .committed])!
        try await stack.on(name) { [dice] context in
            var dice = dice
            context.author = author
            do {
                try context.batchAnything(&dice)
            } catch let error as StrataError where Soak.expected.contains(error.code) {
            }
        }
    }
}

extension ObjectContext {
    fileprivate func batchAnything(_ dice: inout Dice) throws {
        let value = dice.number(0..<100)
        switch dice.number(0..<6) {
        case 0:
            try batchUpdate(Item.where { $0.value < value && $0.value > value - 10 }) { $0.value.set(to: $0.value + 7) }
        case 1:
            let shelf = dice.pick(try ids(Soak.Shelf.all))
            try batchUpdate(Item.where { $0.value == value }) {
                [.relate($0.shelf, to: shelf), $0.weight.set(to: nil), $0.kind.set(to: .book)]
            }
        case 2:
            let label = Self.label(&dice)
            try batchDelete(Item.where { $0.label.hasPrefix(label.dropLast().description) })
        case 3:
            // One that has shelves must not go.
            try batchDelete(Soak.Keeper.where { $0.name.hasSuffix("\(value % 10)") })
        case 4:
            guard try count(Item.all) < Soak.itemLimit else { return }
            try batchInsert((0..<3).map { _ in item(&dice).snapshot })
        default:
            // Bytes outside of rows cannot be upserted; tags have none.
            let tags = (0..<3).map { _ in Soak.Tag(name: "tag \(dice.number(0..<8))", rank: value).snapshot }
            try batchUpsert(tags, by: "name")
        }
    }

    private func item(_ dice: inout Dice) -> Item {
        let (seed, photo) = Self.photo(&dice)
        return Item(label: Self.label(&dice), value: dice.number(0..<100), photoSeed: seed, photo: photo)
    }
}
