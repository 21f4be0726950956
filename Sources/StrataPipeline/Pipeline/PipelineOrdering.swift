public import Strata

/// The order in which the operations of a pipeline, or of each of its lanes, start.
public enum PipelineOrdering: String, AttributeValue, CaseIterable {
    /// Ready operations start in the order of priority (greatest first), then of commit (earliest first), then of
    /// insertion. Any number of them run concurrently.
    case flat
    /// All operations of one commit run before those of the next commit. Operations of one commit are ordered as in
    /// `flat`. If a ``QueuedOperation/sortKey`` is set, commits are ordered by the sort key first.
    case commits
    /// Operations run one at a time: first in, first out.
    case fifo
    /// Operations run one at a time: last in, first out.
    case lifo

    /// Whether an operation may have to wait for other operations of its lane.
    var isSerial: Bool { self != .flat }
    /// Whether this ordering leaves open an order that the other ordering defines.
    func leavesOpen(_ other: PipelineOrdering) -> Bool {
        switch (other, self) {
        case (.commits, .flat), (.fifo, .flat), (.lifo, .flat), (.fifo, .commits): true
        default: false
        }
    }
    /// Whether an operation runs alone in its lane.
    var isExclusive: Bool { self == .fifo || self == .lifo }
}
