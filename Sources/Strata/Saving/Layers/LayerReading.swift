/// A state of the store onto which layers are rebased.
struct LayerReading {
    let connection: Connection
    /// The number of the last commit that the connection sees.
    let sequence: Int64
    /// Whether the connection is that of the running transaction. Then only the layer of a context that reads inside
    /// this transaction is rebased.
    var isInTransaction = false
}

extension LayerRegistry {
    /// Locks the layers while they are rebased onto a state of the store.
    ///
    /// The layers then know exactly the commits in this state: missing commits are applied first. Rebasing onto an
    /// older state would bring back old rows. Rebasing onto a newer state would show readers only a part of its
    /// commits.
    ///
    /// Afterwards the readers of the log are woken, as after ``update(by:_:)``.
    ///
    /// - Parameter context: the context that makes the change. It is woken only if missing commits were applied.
    /// - Returns: nil if the caller must retry with a newer state: the layers know more commits, or a commit is being
    ///   applied.
    func rebasing<Result>(
        onto reading: LayerReading,
        _ schema: Schema,
        by context: Int,
        _ body: (inout State) throws -> Result
    ) throws -> Result? {
        var wakes = CommitLog.Wakes()
        defer { wakes.run() }
        return try state.withLock { state in
            var hasAbsorbed = false
            defer { wakes = state.log.takeWakes(except: hasAbsorbed ? nil : context) }
            // The transaction has begun with all commits known, and no other context reads this layer.
            if reading.isInTransaction { return try body(&state) }
            if reading.sequence < state.sequence { return nil }
            if state.hasInFlight(reading.sequence) { return nil }
            if reading.sequence > state.sequence {
                try state.absorb(through: reading.sequence, schema: schema, connection: reading.connection)
                hasAbsorbed = true
            }
            return try body(&state)
        }
    }
}
