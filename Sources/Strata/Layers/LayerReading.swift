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

extension LayerStore.State {
    /// Whether the layers know of nothing that is not in this state of the store.
    func isKnown(to reading: LayerReading) -> Bool { reading.sequence >= sequence }
}
