/// A state of the store onto which layers are rebased.
struct LayerReading {
    let connection: Connection
    /// The number of the last commit that the connection sees.
    let sequence: Int64
}

extension LayerRegistry {
    /// Locks the layers while they are rebased onto a state of the store.
    ///
    /// The layers then know exactly the commits in this state: missing commits are applied first. An older state would
    /// reset the layers. Of a newer state, readers would see only a part.
    ///
    /// - Returns: nil if the caller must retry with a newer state: the layers know more commits, or a commit is being
    ///   applied.
    func rebasing<Result>(
        onto reading: LayerReading,
        _ schema: Schema,
        _ body: (inout State) throws -> Result
    ) throws -> Result? {
        var hasAbsorbed = false
        defer { if hasAbsorbed { notifyWatchers(of: nil) } }
        return try state.withLock { state in
            if reading.sequence < state.sequence { return nil }
            if let commit = state.inFlight, reading.sequence >= commit.sequence { return nil }
            if reading.sequence > state.sequence {
                try absorb(through: reading.sequence, schema, reading.connection, &state)
                hasAbsorbed = true
            }
            return try body(&state)
        }
    }
}
