/// What a file in a ``DiskCache`` is the content of.
public struct CacheKey: Hashable, Sendable {
    /// The id of the account.
    public var account: String
    /// The number of the node.
    public var node: Int64
    /// Which sections the file holds: the sum of 1 for the header, 2 for the metadata, 4 for the thumbnail, 8 for the data.
    public var sections: UInt8

    /// The key of some sections of a node.
    public init(account: String, node: Int64, sections: UInt8) {
        self.account = account
        self.node = node
        self.sections = sections
    }
}
