import Strata

/// Where in the feed of a remote a pull has come to.
struct FeedPosition: AttributeValue, Codable, Hashable, Sendable {
    var cursor: String
    /// Whether the last pull began here already, and has left more than can be remembered.
    var isRepeated = false
    /// The segments of the keys of what was told of before, and is to be looked at again.
    private var left: [[String]]?

    init(_ cursor: String, left: Set<RemoteKey> = []) {
        self.cursor = cursor
        if !left.isEmpty {
            self.left = left.map(\.segments).sorted { $0.lexicographicallyPrecedes($1) { $0.precedesByBytes($1) } }
        }
    }

    /// The keys of what was told of before, and is to be looked at again.
    var keys: [RemoteKey] { (left ?? []).map { RemoteKey(escaped: $0) } }

    /// How many of these there are at most: each is a request of every pull.
    static let most = 50

    /// From where the next pull goes on, behind one that has left something.
    ///
    /// - Returns: nil where it is to ask for everything.
    static func next(_ feed: RemoteFeed, from position: Self?, left: Set<RemoteKey>) -> Self? {
        if left.count <= most { return FeedPosition(feed.cursor, left: left) }
        guard !feed.isWhole, var position, !position.isRepeated else { return nil }
        position.isRepeated = true
        return position
    }

    /// The same where another process has written its own meanwhile: what that has not left it knows of.
    func leaving(_ keys: Set<RemoteKey>) -> Self? {
        let all = keys.union(self.keys)
        return all.count <= Self.most ? FeedPosition(cursor, left: all) : nil
    }
}

extension CloudContext {
    /// Has the next pull look at something again that it may not be told of.
    func lookAgain(at keys: Set<RemoteKey>) throws {
        let record = try context.accountRecord(account)
        if let position = record.feedPosition { record.feedPosition = position.leaving(keys) }
    }
}
