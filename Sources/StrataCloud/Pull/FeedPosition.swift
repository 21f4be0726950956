import Strata

/// The position of an account's pulls in a remote's change feed.
struct FeedPosition: AttributeValue, Codable, Hashable, Sendable {
    var cursor: String
    /// Whether the last pull already began at this position and left more keys than a position can store.
    var isRepeated = false
    /// The segments of reported keys that the next pull must check again.
    private var left: [[String]]?

    init(_ cursor: String, left: Set<RemoteKey> = []) {
        self.cursor = cursor
        if !left.isEmpty {
            self.left = left.map(\.segments).sorted { $0.lexicographicallyPrecedes($1) { $0.precedesByBytes($1) } }
        }
    }

    /// The reported keys that the next pull must check again.
    var keys: [RemoteKey] { (left ?? []).map { RemoteKey(escaped: $0) } }

    /// The largest number of keys in a position. Each key costs one request in every pull.
    static let most = 50

    /// The position from which the next pull continues, after a pull that has left some keys.
    ///
    /// - Returns: nil if the next pull must request everything.
    static func next(_ feed: RemoteFeed, from position: Self?, left: Set<RemoteKey>) -> Self? {
        if left.count <= most { return FeedPosition(feed.cursor, left: left) }
        guard !feed.isWhole, var position, !position.isRepeated else { return nil }
        position.isRepeated = true
        return position
    }

    /// This position with more keys to check, after another process has written its position in the meantime. The other
    /// process does not know the keys that this pull has left.
    func leaving(_ keys: Set<RemoteKey>) -> Self? {
        let all = keys.union(self.keys)
        return all.count <= Self.most ? FeedPosition(cursor, left: all) : nil
    }
}

extension CloudContext {
    /// Makes the next pull check keys that the feed may not report again.
    func lookAgain(at keys: Set<RemoteKey>) throws {
        let record = try context.accountRecord(account)
        if let position = record.feedPosition { record.feedPosition = position.leaving(keys) }
    }
}
