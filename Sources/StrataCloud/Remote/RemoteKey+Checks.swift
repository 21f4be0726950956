extension RemoteKey {
    /// Throws `invalidKey` where a segment is empty or would lead elsewhere.
    package func requireNames() throws {
        guard segments.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." && !$0.contains("\0") && !$0.contains("/") })
        else {
            throw RemoteError(.invalidKey, "A name in '\(path)' is empty.", key: self)
        }
    }
}
