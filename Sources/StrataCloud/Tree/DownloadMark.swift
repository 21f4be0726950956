import Strata

/// That a section of a node is to be downloaded, since the remote has a version of it.
///
/// Marks of several versions stand side by side, so that taking back the mark of one never takes back that of a later one, in whichever
/// order the commits come.
@Model(.index("node", "section"), table: "DownloadMark")
final class DownloadMark: Model {
    var node: CloudNode?
    /// One bit.
    var section: Int
    /// The version that the remote had when it was marked.
    var eTag: String?
}
