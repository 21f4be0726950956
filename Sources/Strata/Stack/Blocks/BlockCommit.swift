/// The engine's work that is committed together with a block, and the calls before and after the commit.
struct BlockCommit: Sendable {
    /// An engine's work in the same transaction.
    var work: PendingCommit.EngineWork?
    /// Called before the transaction.
    var prepared: @Sendable () -> Void = {}
    /// Called after each call of `prepared`, when the outcome is known; nil if no engine needs it.
    var ended: (@Sendable (_ isCommitted: Bool) -> Void)?

    /// Prepares the changes of a block.
    func begin(in context: ObjectContext) throws -> PendingCommit { try context.beginCommit(alongside: work) }
}
