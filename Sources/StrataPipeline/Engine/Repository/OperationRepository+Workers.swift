import Foundation
import Strata

extension OperationRepository {
    /// The last observation of another worker.
    struct WorkerObservation: Sendable {
        let heartbeat: Int
        let isBusy: Bool
        /// The number of later looks that found the worker unchanged.
        var missed = 0
    }

    /// Registers a worker, and returns its number.
    ///
    /// - Parameter known: the number that the worker already has; nil for a new one.
    @discardableResult
    func register(_ identity: WorkerIdentity, as known: Int64? = nil) throws -> Int64 {
        let number = try known ?? transaction.newID()
        try transaction.run(
            QueueSQL.insertWorker,
            [
                .integer(number), .integer(Int64(identity.process)), .integer(Int64(identity.start)),
                .text(identity.machine), .real(now.timeIntervalSinceReferenceDate), .integer(transaction.number),
            ]
        )
        try transaction.report(inserted: number, of: PipelineWorker.self)
        return number
    }

    /// Registers a worker again that other processes may have removed while it ran nothing.
    func ensureRegistered(_ worker: Int64) throws {
        guard try transaction.integer(QueueSQL.selectWorker, [.integer(worker)]) == nil else { return }
        try register(.own, as: worker)
    }

    /// Reclaims the operations of dead workers, and those that ran when the store was copied.
    ///
    /// - Parameter isAlive: whether a worker of this process is alive.
    func reclaimFromDeadWorkers(_ isAlive: (Int64) -> Bool) throws {
        try returnCopied()
        let dead = try workers().filter { worker in
            worker.identity == .own ? !isAlive(worker.number) : worker.identity.isDead
        }
        try reclaim(from: dead.map { ($0.number, $0.identity) })
    }

    private func workers() throws -> [(number: Int64, identity: WorkerIdentity, heartbeat: Int)] {
        var workers: [(number: Int64, identity: WorkerIdentity, heartbeat: Int)] = []
        try transaction.rows(QueueSQL.selectWorkers, []) { row in
            let identity = WorkerIdentity(
                process: try row.read(Int.self, at: 1),
                start: try row.read(Int.self, at: 2),
                machine: try row.read(String.self, at: 3)
            )
            workers.append((try row.read(Int64.self, at: 0), identity, try row.read(Int.self, at: 4)))
        }
        return workers
    }

    /// Records a heartbeat of a worker. Returns false if another process has declared the worker dead.
    func recordHeartbeat(of worker: Int64) throws -> Bool {
        guard try transaction.run(QueueSQL.heartbeat, [.integer(transaction.number), .integer(worker)]) > 0 else {
            return false
        }
        try transaction.report(updated: worker, ["beat"], of: PipelineWorker.self)
        return true
    }

    /// Reclaims the operations of workers that are dead, or have not sent a heartbeat for long.
    ///
    /// The time is counted in this worker's own heartbeats and not by the time of day, which may be set.
    ///
    /// - Parameter known: the previous observations, by worker.
    /// - Returns: the present observations.
    func reclaimFromSilentWorkers(_ known: [Int64: WorkerObservation], except own: Int64) throws -> [Int64:
        WorkerObservation]
    {
        let workers = Dictionary(uniqueKeysWithValues: try workers().map { ($0.number, $0) })
        let busy = Set(try transaction.numbers(QueueSQL.selectBusyWorkers, []))
        var result: [Int64: WorkerObservation] = [:]
        var dead: [(number: Int64, identity: WorkerIdentity?)] = []
        for worker in busy.union(workers.keys) where worker != own {
            guard let (_, identity, heartbeat) = workers[worker], !identity.isDead else {
                dead.append((worker, workers[worker]?.identity))
                continue
            }
            let isBusy = busy.contains(worker)
            // An idle worker need not send heartbeats. If it is unknown whether the worker lives, it is finally
            // removed.
            guard isBusy || identity.machine != WorkerIdentity.own.machine else { continue }
            var observation = WorkerObservation(heartbeat: heartbeat, isBusy: isBusy)
            if let last = known[worker], last.heartbeat == heartbeat, last.isBusy == isBusy {
                observation.missed = last.missed + 1
            }
            if observation.missed >= (isBusy ? Self.missedLimit : Self.idleLimit) {
                dead.append((worker, identity))
            } else {
                result[worker] = observation
            }
        }
        try reclaim(from: dead)
        return result
    }

    /// After how many missed heartbeats a worker loses its operations.
    static let missedLimit = 3
    /// For how many heartbeats an idle worker of another machine stays registered.
    static let idleLimit = 360

    /// Reclaims the operations of a worker, and removes the worker.
    func reclaim(from worker: Int64) throws { try reclaim(from: [(worker, nil)]) }

    /// Reclaims the operations of workers, and removes the workers. Workers of one process have ended together.
    ///
    /// - Parameter workers: the workers with their processes, as far as those are known.
    private func reclaim(from workers: [(number: Int64, identity: WorkerIdentity?)]) throws {
        var left: [Int64: [(number: Int64, crashes: Int)]] = [:]
        for (worker, _) in workers {
            try transaction.rows(QueueSQL.selectActiveOfWorker, [.integer(worker)]) { row in
                left[worker, default: []].append((try row.read(Int64.self, at: 0), try row.read(Int.self, at: 1)))
            }
        }
        for (worker, identity) in workers {
            let process = workers.filter { $0.number == worker || identity != nil && $0.identity == identity }
            let isAlone = process.reduce(0) { $0 + (left[$1.number]?.count ?? 0) } == 1
            for (number, crashes) in left[worker] ?? [] { try reclaim(number, after: crashes, isAlone: isAlone) }
            try forget(worker)
        }
    }

    /// Reclaims an operation whose worker is dead. The operation is suspected of being the cause.
    ///
    /// - Parameters:
    ///   - crashes: how often it has lost its worker before while it ran alone.
    ///   - isAlone: whether no other operation ran in the worker's process. Otherwise the cause is unknown, and the
    ///     crash does not count.
    func reclaim(_ number: Int64, after crashes: Int, isAlone: Bool) throws {
        guard let state = try state(of: number) else { return }
        // A crash has a separate count, and does not use an attempt.
        try transaction.run(
            QueueSQL.reclaim,
            [.integer(isAlone ? 1 : 0), .integer(transaction.number), .integer(number)]
        )
        sideResults.facts[.suspects] = true
        try reportStatusChange(of: number, QueueSQL.reclaimColumns)
        if isAlone, state.request == nil, crashes + 1 >= (try rules(state.pipeline)).maxCrashes {
            return try fail(
                number,
                "The process that ran the operation ended \(crashes + 1) times before the attempt, with no other "
                    + "operation running."
            )
        }
        // A request may have been made while the operation ran.
        try applyRequest(of: number)
    }

    /// Removes a worker's registration.
    func forget(_ worker: Int64) throws {
        try transaction.run(QueueSQL.deleteWorker, [.integer(worker)])
        try transaction.report(deleted: worker, of: PipelineWorker.self)
    }
}
