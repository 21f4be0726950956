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
    /// The shortest life of such a process. A node without others begins to commit without the lock when it has seen no
    /// commit of another process for a second. On a fast machine, it has made 90 commits by then.
    static let minLife = Duration.seconds(3)

    /// Starts a process of a node, which works until it ends at a step.
    ///
    /// - Returns: whether it has reached the step. Otherwise it was killed after ``minLife`` and ``maxCommits``.
    func killWorker(_ node: Int, at step: FleetNodeSettings.Step) async throws -> Bool {
        let life = try start(node, killAt: step)
        expectKill(life)
        let lateKill = Task {
            try await Task.sleep(for: Self.minLife)
            try await waitUntil("the step \(step)") { self.ledger.storedCount(of: life.name) >= Self.maxCommits }
            life.kill()
        }
        await life.end()
        lateKill.cancel()
        // The task has ended without an error if it has killed the process.
        if case .failure = await lateKill.result { return true }
        return false
    }
}
