public import Strata

/// A row that a handler inserts, so that a test can count the handler's completed runs.
@Model public final class Mark {
    /// The raw value of the operation's id.
    public var operation: Int64
    /// The process id.
    public var process: Int
}
