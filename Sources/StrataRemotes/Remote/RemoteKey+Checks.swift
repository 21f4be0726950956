extension RemoteKey {
    /// Throws `invalidKey` if a segment is empty or would lead to another folder.
    package func requireNames() throws {
        let isNamed = segments.allSatisfy { segment in
            !segment.isEmpty && segment != "." && segment != ".."
                && !segment.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }
        }
        guard isNamed else {
            throw RemoteError(.invalidKey, "A name in '\(path)' is empty.", key: self)
        }
    }
}
