import Strata

/// Tags without an operation are deleted by the commit that would leave them behind.
extension OperationTag: CommitHook {
    package static func afterWrite(_ commit: ModelChanges<Row>, in transaction: StoreTransaction) throws {
        let repository = OperationRepository(transaction)
        let strays = try repository.strays(among: commit.inserted, QueueSQL.selectStrayTags)
        try repository.delete(strays, of: OperationTag.self, by: QueueSQL.deleteTag)
    }
}

extension FinishedOperation: CommitHook {
    package static func afterWrite(_ commit: ModelChanges<Row>, in transaction: StoreTransaction) throws {
        try OperationRepository(transaction).deleteTags(of: commit.deleted)
    }
}

extension OperationRepository {
    /// Deletes the tags of operations that are neither queued nor finished any more.
    ///
    /// - Complexity: at most three statements; one if the store has no tags.
    func deleteTags(of operations: [Int64]) throws {
        guard !operations.isEmpty, try transaction.integer(QueueSQL.selectAnyTag, []) != nil else { return }
        let list = StoredValue.ids(operations)
        let tags = try transaction.numbers(QueueSQL.selectTags, [list])
        guard !tags.isEmpty else { return }
        try transaction.run(QueueSQL.deleteTags, [list])
        try transaction.report(deleted: tags, of: OperationTag.self)
    }
}

extension QueueSQL {
    static let tags = "\"OperationTag\""
    static let selectAnyTag = "SELECT 1 FROM \(tags) LIMIT 1"
    static let selectTags = "SELECT \"id\" FROM \(tags) WHERE \"operation\" IN (\(ids))"
    static let deleteTags = "DELETE FROM \(tags) WHERE \"operation\" IN (\(ids))"
    static let deleteTag = "DELETE FROM \(tags) WHERE \"id\" = ?"
    /// Tags of operations that are neither queued nor finished, in a range of ids. A tag may be added to an operation
    /// that another commit has just finished.
    static let selectStrayTags = """
        SELECT "id" FROM \(tags) t WHERE "id" BETWEEN ? AND ? \
        AND NOT EXISTS (SELECT 1 FROM \(operations) o WHERE o."id" = t."operation") \
        AND NOT EXISTS (SELECT 1 FROM "FinishedOperation" f WHERE f."id" = t."operation")
        """
}
