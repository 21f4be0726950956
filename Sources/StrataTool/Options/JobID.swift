import ArgumentParser
import Strata
import StrataPipeline

/// The id of an operation: its number, or the whole text that the library prints, such as `QueuedOperation-42-9f3c`.
struct JobID: ExpressibleByArgument {
    let number: Int64
    /// The whole id, which also identifies the store; nil if the number alone was given.
    let whole: ObjectID<QueuedOperation>?

    init?(argument: String) {
        if let id = ObjectID<QueuedOperation>(argument) {
            number = id.rawValue
            whole = id
        } else {
            guard let number = Int64(argument), number > 0 else { return nil }
            self.number = number
            whole = nil
        }
    }

    /// Refuses an id of another store, whose number may belong to any operation of this store.
    func check(in context: ObjectContext) throws {
        if let whole { try context.refuseForeign(whole) }
    }
}
