import Strata
import StrataPipeline

/// The pipelines of accounts have the name `cloud.` and the id of the account.
enum AccountPipelines {
    private static let prefix = "cloud."
    /// The first text after all texts with the prefix: `/` follows `.` in ASCII.
    private static let end = "cloud/"

    static func name(of account: String) -> PipelineName { PipelineName(prefix + account) }

    /// The operations of a query in these pipelines.
    static func operations(of query: Query<QueuedOperation>) -> Query<QueuedOperation> {
        let (first, last) = (prefix, end)
        return query.where {
            Condition<QueuedOperation>.sql("+\($0.pipeline) >= \(first) AND +\($0.pipeline) < \(last)")
        }
    }
}

extension Query where Object == QueuedOperation {
    /// The operations of this query in the pipelines of accounts.
    ///
    /// - Complexity: that of this query. The condition uses no index.
    package var ofAccounts: Query { AccountPipelines.operations(of: self) }
}
