import Foundation
import StoreModels
import Strata

extension SoakWorker {
    /// Runs a random batch operation.
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
