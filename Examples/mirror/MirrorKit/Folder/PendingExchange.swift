import Foundation
import Strata

/// An exchange that is about to happen between a file and a staged copy beside it, which has a hidden name.
struct PendingExchange: Codable, Hashable, Sendable, AttributeValue {
    /// The name of the file.
    let name: String
    /// The hidden name, and the inode of the copy.
    let hidden: String
    let inode: UInt64
    /// The known stamp of the file.
    let known: FileStamp

    /// Whether the file now under the hidden name is neither the copy nor the known file. Then this is the only place
    /// where its content exists.
    func isUnknown(_ status: stat) -> Bool {
        let stamp = FileStamp(status)
        return stamp.inode != inode && !stamp.hasContent(of: known)
    }
}
