import Foundation
import Strata

/// Rules for suspected operations, which ran when their process ended.
///
/// Any of them may have ended the process, so they are started one at a time. A suspected operation is started when
/// nothing else has just begun in its process. Until it has run for a while, nothing else is started there. If the
/// process ends again, the cause is known: the operation that ran alone.
///
/// All of these waits are limited in time. A handler may run for hours, or wait for another operation, so an operation
/// that has run for a while does not hold back others.
extension OperationRepository {
    /// For how many seconds a started operation holds back suspected ones. If it is suspected itself, it holds back all
    /// others.
    static let trial = 30.0

    /// The trial time by suspicion. Each end of the process beside other operations doubles it, so that an operation
    /// that ends its process late finally runs alone too.
    private static func trial(of suspicion: Int) -> Double { trial * Double(1 << min(max(suspicion - 1, 0), 20)) }

    /// The operations in this worker's process that began recently.
    struct Trial {
        /// Until when an operation counts as just begun; nil if none does.
        fileprivate(set) var end: Date?
        /// Whether a suspected operation is among them.
        fileprivate(set) var isOfSuspect = false
    }

    /// The operations that have just begun in this process.
    ///
    /// - Complexity: O(running operations).
    func trial(of worker: Int64) throws -> Trial {
        let own = WorkerIdentity.own
        var trial = Trial()
        try transaction.rows(
            QueueSQL.selectActiveOfProcess,
            [.integer(worker), .integer(Int64(own.process)), .integer(Int64(own.start)), .text(own.machine)]
        ) { row in
            guard let start = try row.read(Date?.self, at: 0) else { return }
            let suspicion = try row.read(Int?.self, at: 1)
            // A start in the future was stored by a clock that has been set back since.
            guard start <= now.addingTimeInterval(Self.clockTolerance) else { return }
            let end = start.addingTimeInterval(Self.trial(of: suspicion ?? 0))
            guard end > now else { return }
            trial.end = max(trial.end ?? end, end)
            if suspicion != nil { trial.isOfSuspect = true }
        }
        return trial
    }

    /// The pipelines with claimable suspected operations. The pipeline of the prime suspect, which was started last,
    /// comes first.
    func suspectedNames() throws -> [PipelineName] {
        var names: [PipelineName] = []
        try transaction.rows(QueueSQL.selectSuspectedNames, []) {
            names.append(PipelineName(try $0.read(String.self, at: 0)))
        }
        return names
    }
}
