/// A failure that no caller could receive as an error; see ``ContextStack/failures``.
///
/// It is a failed save that no caller waited for, or a failed read of a property, which does not throw.
public struct SaveFailure: Sendable, CustomStringConvertible {
    /// The name of the context in which the failure happened, if it has one.
    public let context: ContextName?

    /// The error.
    public let error: any Error

    /// The context and the error in one line.
    public var description: String {
        "A save or read failed in \(context.map { "context '\($0)'" } ?? "an unnamed context"), and no caller "
            + "received the error: \(error)"
    }
}
