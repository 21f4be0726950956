import Strata

/// What a file in a ``DiskCache`` is the content of.
public struct CacheKey: Hashable, Sendable {
    /// The id of the account.
    public var account: String
    /// The number of the node.
    public var node: Int64
    /// Which sections the file holds.
    public var sections: ContentSections

    /// The key of some sections of a node.
    public init(account: String, node: Int64, sections: ContentSections) {
        self.account = account
        self.node = node
        self.sections = sections
    }

    /// Whether both are the same content. Ids of accounts are compared by the bytes of their UTF-8.
    public static func == (left: CacheKey, right: CacheKey) -> Bool {
        left.node == right.node && left.sections == right.sections && left.account.hasSameBytes(as: right.account)
    }

    /// As `==`.
    public func hash(into hasher: inout Hasher) {
        account.hashBytes(into: &hasher)
        hasher.combine(node)
        hasher.combine(sections)
    }
}
