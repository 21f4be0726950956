/// A save that nobody waited for and that failed; see ``ContextStack/failures``.
public struct SaveFailure: Error, Sendable, CustomStringConvertible {
    /// The name of the context that was to be saved, if it has one.
    public let context: ContextName?

    /// What went wrong.
    public let error: any Error

    /// The context and the error in one line.
    public var description: String {
        "A save of \(context.map { "'\($0)'" } ?? "an unnamed context") that nobody waited for failed: \(error)"
    }
}
