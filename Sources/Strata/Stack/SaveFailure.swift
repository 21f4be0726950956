/// What went wrong where nobody could be told at once: a save that nobody waited for, or the reading of a property, which
/// does not throw; see ``ContextStack/failures``.
public struct SaveFailure: Error, Sendable, CustomStringConvertible {
    /// The name of the context in which it happened, if it has one.
    public let context: ContextName?

    /// What went wrong.
    public let error: any Error

    /// The context and the error in one line.
    public var description: String {
        "Failed in \(context.map { "context '\($0)'" } ?? "an unnamed context") with nobody waiting for it: \(error)"
    }
}
