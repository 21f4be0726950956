package import Foundation
package import Strata

/// A worker that the store knows: a process, or a stack within a process, that runs operations.
package struct WorkerSummary: Sendable {
    /// What this process knows of the worker's process.
    package enum State: Sendable, CaseIterable {
        /// The process runs on this machine.
        case running
        /// The process has ended. The next worker that looks reclaims its operations.
        case ended
        /// The process belongs to another machine or container.
        case elsewhere
    }

    package let id: Int64
    /// The id of the process.
    package let process: Int64
    /// The machine of the process, and which boot of this machine.
    package let machine: String
    package let state: State
    package let startedAt: Date?
    /// The commit of the last heartbeat; that of the registration before the first heartbeat. A worker that runs
    /// nothing need not send heartbeats.
    package let heartbeatCommit: Int64?
    /// The time of this commit; nil if the store's history does not contain the commit any more.
    package let heartbeatAt: Date?
    /// The number of operations that the worker runs, of the first ``WorkerSQL/runningLimit`` running operations.
    package let runningCount: Int
}

extension ObjectContext {
    /// The workers that the store knows, in the order of their ids.
    ///
    /// - Parameters:
    ///   - id: the id after which the list begins; 0 for the first workers.
    ///   - limit: the greatest number of workers.
    /// - Throws: the store's errors.
    /// - Complexity: O(`limit`), and a lookup for each running operation, of which at most
    ///   ``WorkerSQL/runningLimit`` are read.
    package func workerSummaries(after id: Int64, limit: Int) throws -> [WorkerSummary] {
        var running: [Int64: Int] = [:]
        for row in try rows(WorkerSQL.runningCounts) {
            guard case .integer(let worker) = row.values[0], case .integer(let count) = row.values[1] else { continue }
            running[worker] = Int(count)
        }
        return try rows(WorkerSQL.workers(after: id, limit: limit)).map { row in
            let worker = try row.value(Int64.self, at: 0)
            let identity = WorkerIdentity(
                process: try row.value(Int.self, at: 1),
                start: try row.value(Int.self, at: 2),
                machine: try row.value(String.self, at: 3)
            )
            return WorkerSummary(
                id: worker,
                process: Int64(identity.process),
                machine: identity.machine,
                state: WorkerSummary.State(identity),
                startedAt: try row.value(Date?.self, at: 4),
                heartbeatCommit: try row.value(Int64?.self, at: 5),
                heartbeatAt: try row.value(Date?.self, at: 6),
                runningCount: running[worker] ?? 0
            )
        }
    }
}

extension WorkerSummary.State {
    fileprivate init(_ identity: WorkerIdentity) {
        if identity.isDead {
            self = .ended
        } else {
            self = identity.machine.hasSameBytes(as: WorkerIdentity.own.machine) ? .running : .elsewhere
        }
    }
}

/// The statements of ``Strata/ObjectContext/workerSummaries(after:limit:)``.
package enum WorkerSQL {
    /// The number of running operations that are counted.
    package static let runningLimit = 10_000

    /// Workers, each with the time of the commit that last changed its row. Only heartbeats change the row.
    package static func workers(after id: Int64, limit: Int) -> SQL {
        """
        SELECT w."id", w."process", w."processStart", w."machine", w."startedAt", w."_version", h."time" \
        FROM "PipelineWorker" w LEFT JOIN "strata_history" h ON h."sequence" = w."_version" \
        WHERE w."id" > \(id) ORDER BY w."id" LIMIT \(limit)
        """
    }

    /// The number of running operations of each worker.
    package static var runningCounts: SQL {
        """
        SELECT "worker", count(*) FROM (SELECT "worker" FROM "QueuedOperation" WHERE "status" = 3 \
        LIMIT \(runningLimit)) GROUP BY "worker"
        """
    }
}
