public import Strata

/// The parts that the tree of an account has. On plain remotes each is a folder at the top.
public enum Trunk: String, AttributeValue, Codable, Sendable, CaseIterable {
    /// What the account keeps.
    case home
    /// Settings of the application.
    case prefs
    /// What others have sent.
    case inbox
    /// What is to be sent.
    case outbox
    /// Nodes that have no place in the tree (yet), and what is being sent to others without having one.
    case detached
}
