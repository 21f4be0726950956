import Foundation
import Strata
import StrataCloud
import StrataPipeline

/// The running and waiting transfers of an account.
package struct AccountTransfers: Sendable {
    package let transfers: [TransferLine]
    /// Whether no transfer was left out because of the limit.
    package let isComplete: Bool

    /// The transfers of one account, or of all accounts.
    ///
    /// - Parameters:
    ///   - account: the id of the account; nil for all.
    ///   - limit: the greatest number of uploads and of downloads of each account.
    package static func all(in context: ObjectContext, account: String? = nil, limit: Int) throws -> [AccountTransfers]
    {
        let accounts = try account.map { [$0] } ?? context.cloudAccountIDs()
        return try accounts.map { account in
            let listing = try context.cloud(accountID: account).transferListing(limit: limit)
            return AccountTransfers(
                transfers: listing.uploads.map { TransferLine($0, account) }
                    + listing.downloads.map { TransferLine($0, account) },
                isComplete: listing.isComplete
            )
        }
    }
}

/// An upload or a download, as a list shows it.
package struct TransferLine: Sendable {
    package let account: String
    package let direction: String
    /// The status of the upload's operation, or `marked` for a download.
    package let state: String
    package let node: Int64
    /// Nil if the node was deleted.
    package let path: String?
    package let sections: ContentSections
    package var operation: Int64?
    package var attempts: Int?
    package var startedAt: Date?
    package var progress: Double?
    package var bytesDone: Int64?
    package let bytesTotal: Int64?

    package init(_ upload: TransferListing.Upload, _ account: String) {
        self.account = account
        (direction, state) = ("upload", upload.status.description)
        (node, path, sections) = (upload.node, upload.path?.description, upload.sections)
        (operation, attempts, startedAt) = (upload.operation, upload.attempts, upload.startedAt)
        (progress, bytesDone, bytesTotal) = (upload.progress, upload.bytesDone, upload.bytesTotal)
    }

    package init(_ download: TransferListing.Download, _ account: String) {
        self.account = account
        (direction, state) = ("download", "marked")
        (node, path, sections) = (download.node, download.path.description, download.section)
        bytesTotal = download.bytesTotal
    }
}
