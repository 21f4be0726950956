import Strata
import StrataPipeline

/// The operations that synchronize accounts.
package enum AccountOperations {
    /// What happens if operations of an account are skipped or deleted, as sentences.
    package static let warning = """
        Some of these operations upload, move or delete files of an account. Without them, these changes never reach \
        the remote, and nothing reports this.
        """
}

extension Query where Object == QueuedOperation {
    /// The operations of this query in the pipelines of accounts, whose names are `cloud.` and the id of the account.
    package var ofAccounts: Query {
        let (first, end) = ("cloud.", "cloud/")
        return self.where {
            Condition<QueuedOperation>.sql("+\($0.pipeline) >= \(first) AND +\($0.pipeline) < \(end)")
        }
    }
}
