import Foundation
import Strata

/// Operations that ran when their process ended.
///
/// Any of them may have ended it, so they are started one at a time: a suspected operation is started when nothing else has just begun in its
/// process, and until it has run for a while nothing else is started there. If the process ends again, the one that ran alone is known.
///
/// Everything is limited in time. A handler may run for hours, or wait for another operation: what has run for a while keeps nothing back.
extension OperationBook {
    /// For how long an operation that was started keeps suspected ones from being started, in seconds; one that is suspected itself keeps
    /// everything back.
    static let trial = 30.0

    /// Each end of the process beside others doubles it, so that also an operation that ends its process late runs alone at last.
    private static func trial(of suspicion: Int) -> Double { trial * Double(1 << min(max(suspicion - 1, 0), 20)) }

    /// What runs in the process of this worker, as far as it has begun a while ago or less.
    struct Trial {
        /// Until when one of them has just begun; nil if none of them has.
        fileprivate(set) var end: Date?
        /// Whether a suspected operation is among them.
        fileprivate(set) var isOfSuspect = false
    }

    /// What has just begun in this process.
    ///
    /// - Complexity: O(operations that run).
    func trial(of worker: Int64) throws -> Trial {
        let own = WorkerIdentity.own
        var trial = Trial()
        try transaction.rows(
            QueueSQL.selectActiveOfProcess,
            [.integer(worker), .integer(Int64(own.process)), .integer(Int64(own.start)), .text(own.machine)]
        ) { row in
            guard let start = try row.read(Date?.self, at: 0) else { return }
            let suspicion = try row.read(Int?.self, at: 1)
            // What begins later than now was started by a clock that was set back since.
            guard start <= now.addingTimeInterval(Self.clockTolerance) else { return }
            let end = start.addingTimeInterval(Self.trial(of: suspicion ?? 0))
            guard end > now else { return }
            trial.end = max(trial.end ?? end, end)
            if suspicion != nil { trial.isOfSuspect = true }
        }
        return trial
    }

    /// The pipelines in which suspected operations may be claimed, that of the prime suspect first: the one that was started last.
    func suspectedNames() throws -> [PipelineName] {
        var names: [PipelineName] = []
        try transaction.rows(QueueSQL.selectSuspectedNames, []) {
            names.append(PipelineName(try $0.read(String.self, at: 0)))
        }
        return names
    }
}
