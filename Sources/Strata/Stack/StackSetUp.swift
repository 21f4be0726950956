/// Which contexts a stack begins with.
public enum StackSetUp: Sendable {
    /// Root, a private context on the store, and main, its child on the main actor.
    case standard
    /// Root alone. It suits a service, which has no main loop.
    case rootOnly
    /// None; they are pushed by hand.
    case empty
}
