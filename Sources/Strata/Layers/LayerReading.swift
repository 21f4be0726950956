/// A state of the store that layers are to stand on.
struct LayerReading {
    let connection: Connection
    /// The number of the last commit that the connection sees.
    let sequence: Int64
}

/// What has become of a context's layer, and of its parent's.
struct LayerChange {
    let hasChanged: Bool
    let hasChangedParent: Bool
}

extension LayerStore {
    /// Holds the layers while they are made to stand on a state of the store. They know of just the commits that are in it: what they
    /// lack is taken in first. An older state would set them back, and of a newer one readers would see a part.
    ///
    /// - Returns: nil where it has to be tried again with a newer state: the layers know of more, or a commit is just being taken over.
    func standing<Result>(
        on reading: LayerReading,
        _ schema: Schema,
        _ body: (inout State) throws -> Result
    ) throws -> Result? {
        var hasAbsorbed = false
        defer { if hasAbsorbed { tellWatchers(of: nil) } }
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
