import Strata

/// The key of a file in a ``DiskCache``: the content that the file contains.
public struct CacheKey: Hashable, Sendable {
    /// The id of the account.
    public var account: String
    /// The id number of the node.
    public var node: Int64
    /// The sections that the file contains.
    public var sections: ContentSections

    /// Creates the key of some sections of a node.
    public init(account: String, node: Int64, sections: ContentSections) {
        self.account = account
        self.node = node
        self.sections = sections
    }

    /// Whether both keys identify the same content. Account ids are compared by their UTF-8 bytes.
    public static func == (left: CacheKey, right: CacheKey) -> Bool {
        left.node == right.node && left.sections == right.sections && left.account.hasSameBytes(as: right.account)
    }

    /// Hashes the same values that `==` compares.
    public func hash(into hasher: inout Hasher) {
        account.hashBytes(into: &hasher)
        hasher.combine(node)
        hasher.combine(sections)
    }
}
