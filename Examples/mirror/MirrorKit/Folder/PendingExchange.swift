import Foundation
import Strata

/// That a file is about to change places with a copy beside it that has a hidden name.
struct PendingExchange: Codable, Hashable, Sendable, AttributeValue {
    /// The name of the file.
    let name: String
    /// The hidden name, and the inode of the copy.
    let hidden: String
    let inode: UInt64
    /// The file as it is known.
    let known: FileStamp

    /// Whether what lies under the hidden name by now is neither the copy nor the file that is known, and nowhere else.
    func isUnknown(_ status: stat) -> Bool {
        let stamp = FileStamp(status)
        return stamp.inode != inode && !stamp.hasContent(of: known)
    }
}
