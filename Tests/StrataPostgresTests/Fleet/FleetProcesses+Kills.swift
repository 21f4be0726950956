import StoreModels

extension FleetProcesses {
    /// The kinds of steps that each working process reaches often, those of the lock because the other nodes commit.
    static let frequentKinds =
        FleetNodeSettings.Step.kinds(around: ["lock", "publish"]) + [
            "BEGIN IMMEDIATE", "INSERT", "INSERT INTO \"strata_history\"", "UPDATE", "COMMIT", "write", "unlock",
            "after COMMIT", "acknowledgement", "send", "after send",
        ]

    /// The commits after which a process is killed that has not reached its step.
    static let maxCommits = 90

    /// Starts a process of a node, which works until it ends at a step.
    ///
    /// - Returns: whether it has reached the step. Otherwise it was killed after ``maxCommits`` commits.
    func killWorker(_ node: Int, at step: FleetNodeSettings.Step) async throws -> Bool {
        let life = try start(node, killAt: step)
        expectKill(life)
        let lateKill = Task {
            try await waitUntil("the step \(step)") { self.ledger.storedCount(of: life.name) >= Self.maxCommits }
            life.kill()
        }
        await life.end()
        lateKill.cancel()
        return ledger.storedCount(of: life.name) < Self.maxCommits
    }
}
