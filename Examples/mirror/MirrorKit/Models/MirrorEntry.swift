import Foundation
import Strata

/// What is known of a file or a folder of the mirrored folder: how it was when the tree was last told of it.
///
/// Its node in the tree stands for it by a link. What the folder has and this has not is a change from here; what the tree has and this has not
/// is a change from elsewhere.
@Model(table: "MirrorEntry")
final class MirrorEntry {
    /// Where it lies: names with slashes between them.
    @Attribute(.unique) var path: String
    var isFolder: Bool = false
    /// The inode, the size and the times of the file whose digest is known.
    var stamp: FileStamp
    /// Whether it was read so soon after it was written that it may have been written once more in the same step of the kernel's clock.
    var isFresh: Bool = false
    /// SHA-256 of the content; nil for a folder.
    var digest: String?
    /// That of a content that is about to come to its place, or of a folder that is about to be made any text: a process that is killed
    /// meanwhile must not take it for a change from here.
    var incoming: String?
    /// Where it is about to be moved, for the same reason.
    var destination: String?
    /// With what it is about to change places: behind a kill, what somebody has written in that moment lies under the other name.
    var exchange: PendingExchange?
}
