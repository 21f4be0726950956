public import Foundation
public import Strata

/// A value that an application keeps by a name for something that need not be a node: the version of a file that it knows, say.
///
/// Tags whose subject is the id of a node, as `"\(node.id)"`, are deleted with the node, by local deletes and by pulls. Others stay until they are removed.
@Model(.unique("account", "subject", "name"), table: "CloudTag")
public final class CloudTag {
    /// The id of the account.
    public internal(set) var account: String
    /// What it is about.
    public internal(set) var subject: String
    /// The name.
    public internal(set) var name: String
    /// The value.
    public internal(set) var value: Data
}
