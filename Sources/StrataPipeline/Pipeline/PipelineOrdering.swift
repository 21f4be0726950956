public import Strata

/// In which order the operations of a pipeline, or of each of its lanes, are started.
public enum PipelineOrdering: String, AttributeValue, CaseIterable {
    /// Any operation that is ready: the greatest priority first, then the earliest commit, then the earliest inserted. Any number
    /// run side by side.
    case flat
    /// All operations of one commit before those of the next; among those of one commit as `flat`. Where a ``QueuedOperation/sortKey`` is
    /// set, commits are ordered by that first.
    case commits
    /// One after the other, first in, first out.
    case fifo
    /// One after the other, last in, first out.
    case lifo

    /// Whether an operation may have to wait for others of its lane.
    var isSerial: Bool { self != .flat }
    /// Whether it leaves an order open that another one keeps.
    func leavesOpen(_ other: PipelineOrdering) -> Bool {
        switch (other, self) {
        case (.commits, .flat), (.fifo, .flat), (.lifo, .flat), (.fifo, .commits): true
        default: false
        }
    }
    /// Whether it runs alone in its lane.
    var isExclusive: Bool { self == .fifo || self == .lifo }
}
