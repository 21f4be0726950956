import Foundation
import Strata

/// The time during which the key of an operation stays taken, also if the operation ends earlier. The row has the
/// operation's id number: see ``UniqueEnqueue``.
@Model(.index("pipeline", "key"), .index("until"), table: "OperationUniqueness")
package final class OperationUniqueness {
    /// The pipeline of the operation.
    package internal(set) var pipeline: PipelineName
    /// The key of the operation.
    package internal(set) var key: String
    /// When the operation was queued.
    package internal(set) var since: Date
    /// When the key is no longer taken by this row.
    package internal(set) var until: Date
    /// Counts the commits that have left out an operation because of this row, as far as they knew of each other. So
    /// such a commit conflicts if the row is gone by then.
    package internal(set) var edits: Int = 0
    /// The number of the commit that queued the operation; 0 before this commit.
    @Attribute(.commitNumber) package internal(set) var commit: Int64 = 0
}
