import Foundation
import Strata
import StrataPipeline

/// The queues of a store, and the running operations, at one moment.
///
/// Names without queued operations are not part of it.
struct QueueOverview: Sendable {
    /// A running operation.
    struct Running: Sendable {
        /// The number of the operation's id.
        let id: Int64
        let queue: String
        let lane: String
        /// The name of the payload's type.
        let type: String
        let attempts: Int
        let startedAt: Date?
        /// The progress that the handler has reported, from 0 to 1.
        let progress: Double?
    }

    /// Sorted by name.
    let queues: [PipelineSnapshot]
    /// The first running operations, in the order of their starts.
    let running: [Running]
    /// The number of all running operations.
    var runningCount: Int { queues.reduce(0) { $0 + $1.counts[.active, default: 0] } }

    /// - Parameters:
    ///   - context: a context of a stack with the models of queues.
    ///   - limit: the greatest number of running operations.
    /// - Complexity: O(queued operations).
    init(in context: ObjectContext, limit: Int) throws {
        queues = try context.pipelineSnapshots()
        let active = QueuedOperation.where { $0.status == .active }
        let rows = try context.rows(active.sorted { [$0.startedAt.ascending, $0.id.ascending] }.limit(limit))
        running = rows.map { row in
            Running(
                id: row.id.rawValue,
                queue: row.pipeline.rawValue,
                lane: row.lane,
                type: row.type,
                attempts: row.attempts,
                startedAt: row.startedAt,
                progress: row.progress
            )
        }
    }
}
