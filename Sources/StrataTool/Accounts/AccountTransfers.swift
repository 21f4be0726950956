import Foundation
import Strata
import StrataCloud
import StrataPipeline

/// The running and waiting transfers of an account.
struct AccountTransfers: Sendable {
    let transfers: [TransferLine]
    /// Whether no transfer was left out because of the limit.
    let isComplete: Bool

    /// The transfers of one account, or of all accounts.
    ///
    /// - Parameters:
    ///   - account: the id of the account; nil for all.
    ///   - limit: the greatest number of uploads and of downloads of each account.
    static func all(in context: ObjectContext, account: String? = nil, limit: Int) throws -> [AccountTransfers] {
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

/// An upload or a download, as the tool prints it.
struct TransferLine: Sendable {
    let account: String
    let direction: String
    /// The status of the upload's operation, or `marked` for a download.
    let state: String
    let node: Int64
    /// Nil if the node was deleted.
    let path: String?
    let sections: ContentSections
    var operation: Int64?
    var attempts: Int?
    var startedAt: Date?
    var progress: Double?
    var bytesDone: Int64?
    let bytesTotal: Int64?

    init(_ upload: TransferListing.Upload, _ account: String) {
        self.account = account
        (direction, state) = ("upload", upload.status.description)
        (node, path, sections) = (upload.node, upload.path?.description, upload.sections)
        (operation, attempts, startedAt) = (upload.operation, upload.attempts, upload.startedAt)
        (progress, bytesDone, bytesTotal) = (upload.progress, upload.bytesDone, upload.bytesTotal)
    }

    init(_ download: TransferListing.Download, _ account: String) {
        self.account = account
        (direction, state) = ("download", "marked")
        (node, path, sections) = (download.node, download.path.description, download.section)
        bytesTotal = download.bytesTotal
    }

    static func table(of lines: [TransferLine]) -> TextTable {
        var table = TextTable(["account", "direction", "state", "node", "sections", "done", "bytes", "attempts"])
        for line in lines {
            table.add([
                .text(line.account), .text(line.direction), .text(line.state),
                .text(line.path ?? "(deleted node \(line.node))"), .text(line.sections.description),
                .number(line.bytesDone), .number(line.bytesTotal), .number(line.attempts),
            ])
        }
        return table
    }

    var json: JSON {
        .object([
            ("account", .text(account)),
            ("direction", .text(direction)),
            ("state", .text(state)),
            ("node", .integer(node)),
            ("path", .orNull(path)),
            ("sections", .sections(sections)),
            ("operation", .orNull(operation)),
            ("attempts", .orNull(attempts)),
            ("startedAt", .time(startedAt)),
            ("progress", .orNull(progress)),
            ("bytesDone", .orNull(bytesDone)),
            ("bytesTotal", .orNull(bytesTotal)),
        ])
    }
}
