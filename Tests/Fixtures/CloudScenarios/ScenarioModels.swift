public import Strata

/// The object of a node. Its fields determine the node's bytes.
@Model public final class Draft {
    public var seed: Int
    public var size: Int
}

/// A call that the handler has received. The commit of the call inserts it.
@Model public final class Report {
    public var text: String
}
