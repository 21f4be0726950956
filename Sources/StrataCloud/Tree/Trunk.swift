public import Strata

/// The top-level parts of an account's tree. On plain remotes each trunk is a top-level folder.
public enum Trunk: String, AttributeValue, Codable, Sendable, CaseIterable {
    /// The account's own files.
    case home
    /// Settings of the application.
    case prefs
    /// Messages from other accounts.
    case inbox
    /// Files to send.
    case outbox
    /// Nodes without a place in the tree, or without one yet, and content that is being sent to other accounts from
    /// outside the tree.
    case detached
}
