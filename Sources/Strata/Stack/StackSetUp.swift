/// The contexts that a stack begins with.
public enum StackSetUp: Sendable {
    /// Root, a private context on the store, and main, its child on the main actor.
    case standard
    /// Root only. This suits a service, which has no main loop.
    case rootOnly
    /// No contexts; the program pushes them.
    case empty
}
