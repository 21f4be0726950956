import Foundation

extension Store {
    /// Begins to bring the transactions of other machines into the working copy. Does nothing without a home.
    func follow() {
        guard let follower = writer.follower else { return }
        writer.takeIDs(
            from: HomeIDs { [ids] in
                try ids.take()
            } reserve: { [follower] count in
                try follower.reserveIDs(count)
            }
        )
        follower.start { [weak self] error in
            guard let self else { return }
            let isAway = (error as? StrataError)?.code == .unreachable
            if follower.isAway.exchange(isAway, ordering: .relaxed) != isAway {
                let home = follower.home.name
                let text =
                    isAway ? "does not answer: commits wait for it, and reads show the last known state" : "answers"
                telemetry.logger?.log(level: isAway ? .warning : .notice, "\(home) \(text)")
            }
            if isAway { return }
            following { store in
                if let error { throw error }
                try store.absorbForeignCommits()
            }
        }
        writer.reporter?.start()
    }

    /// Waits until the working copy has all transactions that the home had when this function was called. The layers
    /// then know them too.
    ///
    /// - Throws: `unreachable` and the other errors of a home; `invalidState` for a store without a home; `closed`;
    ///   `CancellationError`.
    nonisolated(nonsending) func catchUp() async throws {
        let follower = try requireFollower()
        try await follower.catchUps.wait { [self] in
            do {
                try follower.catchUpToNewest()
                try absorbForeignCommits()
            } catch {
                // The home of a closed store does not answer either.
                try checkOpen()
                throw error
            }
        }
    }

    /// The same. Does nothing in a store without a home.
    nonisolated(nonsending) func catchUpIfShared() async throws {
        if writer.follower != nil { try await catchUp() }
    }

    /// The nodes that have reported to the home within a day.
    ///
    /// - Throws: `unreachable`; `invalidState` for a store without a home; `closed`.
    func nodes() throws -> [HomeNodeStatus] { try requireFollower().home.nodes() }

    /// See ``NodeReporter/clockDifference``; 0 without a home.
    var clockDifference: TimeInterval { writer.reporter?.clockDifference ?? 0 }

    private func requireFollower() throws -> HomeFollower {
        try checkOpen()
        guard let follower = writer.follower else {
            throw StrataError(.invalidState, "The store does not have a home. Open it with `.shared(_:copy:)`.")
        }
        return follower
    }
}
