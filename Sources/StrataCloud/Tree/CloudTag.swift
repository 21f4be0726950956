public import Foundation
public import Strata

/// A named value that an application stores for a subject, such as the version of a file that it knows. The subject
/// need not be a node.
///
/// If the subject is the id of a node, as `"\(node.id)"`, the tag is deleted with the node, by local deletes and by
/// pulls. Other tags stay until they are removed.
@Model(.unique("account", "subject", "name"), table: "CloudTag")
public final class CloudTag {
    /// The id of the account.
    public internal(set) var account: String
    /// The subject of the tag.
    public internal(set) var subject: String
    /// The name.
    public internal(set) var name: String
    /// The value.
    public internal(set) var value: Data
}
