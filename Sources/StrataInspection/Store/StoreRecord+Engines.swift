import Strata
import StrataCloud
import StrataPipeline

/// The models of engines, which a stack needs to know to use their tables.
extension StoreRecord {
    /// The models of queues, if the store has their tables.
    package var queueModels: [any Model.Type] { Pipeline.models.contains(where: hasTable) ? Pipeline.models : [] }

    /// The models of accounts, and of the queues that they use, if the store has the tables of accounts.
    package var accountModels: [any Model.Type] { hasTable(of: CloudNode.self) ? CloudAccount.models : [] }

    /// The models of all engines whose tables the store has.
    ///
    /// A stack that writes to queues needs all of them: operations of accounts have rows in other tables, and rules of
    /// these tables delete the rows with the operations.
    package var engineModels: [any Model.Type] { accountModels.isEmpty ? queueModels : accountModels }

    private func hasTable(of model: any Model.Type) -> Bool {
        schema.tables.map(\.name).containsBytes(of: model._$schema.table)
    }
}
