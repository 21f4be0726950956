import Strata

/// A request to download a section of a node, because the remote has a version of it.
///
/// Marks of several versions exist side by side. So removing the mark of one version never removes the mark of a later
/// version, in whatever order the commits run.
@Model(.index("node", "section"), table: "DownloadMark")
final class DownloadMark: Model {
    var node: CloudNode?
    /// The section, as one bit.
    var section: Int
    /// The remote's version when the section was marked.
    var eTag: String?
}
