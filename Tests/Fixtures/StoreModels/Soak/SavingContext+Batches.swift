import Foundation
public import Strata

extension SavingContext {
    /// Runs a random batch operation.
    public func batchAnything(_ dice: inout Dice) throws {
        let value = dice.number(0..<100)
        switch dice.number(0..<6) {
        case 0:
            try batchUpdate(Soak.Item.where { $0.value < value && $0.value > value - 10 }) {
                $0.value.set(to: $0.value + 7)
            }
        case 1:
            let shelf = dice.pick(try ids(Soak.Shelf.all))
            try batchUpdate(Soak.Item.where { $0.value == value }) {
                [.relate($0.shelf, to: shelf), $0.weight.set(to: nil), $0.kind.set(to: .book)]
            }
        case 2:
            let label = Self.label(&dice)
            try batchDelete(Soak.Item.where { $0.label.hasPrefix(label.dropLast().description) })
        case 3:
            // A keeper with shelves must not be deleted.
            try batchDelete(Soak.Keeper.where { $0.name.hasSuffix("\(value % 10)") })
        case 4:
            guard try count(Soak.Item.all) < Soak.itemLimit else { return }
            try batchInsert((0..<3).map { _ in item(&dice).snapshot })
        default:
            // A model with bytes outside of its rows cannot be upserted. Tags do not have such bytes.
            let tags = (0..<3).map { _ in Soak.Tag(name: "tag \(dice.number(0..<8))", rank: value).snapshot }
            try batchUpsert(tags, by: "name")
        }
    }

    private func item(_ dice: inout Dice) -> Soak.Item {
        let (seed, photo) = Self.photo(&dice)
        return Soak.Item(label: Self.label(&dice), value: dice.number(0..<100), photoSeed: seed, photo: photo)
    }
}
