public import Strata

/// What a handler leaves behind, so that it can be counted how often it has.
@Model public final class Mark {
    /// The number of the operation's id.
    public var operation: Int64
    /// The process.
    public var process: Int
}
