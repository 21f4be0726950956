import Foundation
import Strata
import StrataPipeline

/// The running and waiting transfers of an account, as far as the store records them.
///
/// A store does not record whether a download runs, nor how many of its bytes have arrived: see
/// ``CloudAccount/progress()`` for the program that runs it.
package struct TransferListing: Sendable {
    /// A queued upload.
    package struct Upload: Sendable {
        /// The number of the operation's id.
        package let operation: Int64
        /// The number of the node's id.
        package let node: Int64
        /// The path of the node; nil if the node was deleted here.
        package let path: TreePath?
        package let sections: ContentSections
        /// `active` while the upload runs.
        package let status: OperationStatus
        package let attempts: Int
        /// When the last attempt began.
        package let startedAt: Date?
        /// The progress of the running attempt, from 0 to 1; nil if it has not reported any. Only uploads in parts
        /// report their progress.
        package let progress: Double?
        /// The bytes that have arrived at the remote, if the upload is sent in parts.
        package let bytesDone: Int64?
        /// The number of bytes to upload, if the application has given it.
        package let bytesTotal: Int64?
    }

    /// A section that is marked for download.
    package struct Download: Sendable {
        /// The number of the node's id.
        package let node: Int64
        package let path: TreePath
        package let section: ContentSections
        /// The number of bytes at the remote, if it is known.
        package let bytesTotal: Int64?
    }

    /// The running uploads, and then the other ones in the order in which they were queued.
    package let uploads: [Upload]
    package let downloads: [Download]
    /// Whether no transfer was left out because of the limit.
    package let isComplete: Bool
}

extension CloudContext {
    /// Lists the queued uploads, and the sections that are marked for download.
    ///
    /// Operations whose payload this version cannot read are left out.
    ///
    /// - Parameters:
    ///   - limit: the greatest number of transfers in each direction.
    ///   - greatestScan: the greatest number of queued operations of which the payload is read.
    /// - Throws: errors of the store.
    /// - Complexity: O(queued operations of the account, up to `greatestScan`) if few of them are uploads; otherwise
    ///   O(limit).
    package func transferListing(limit: Int, greatestScan: Int = .max) throws -> TransferListing {
        let (uploads, areAllUploads) = try queuedUploads(limit: limit, greatestScan: greatestScan)
        let (downloads, areAllDownloads) = try markedDownloads(limit: limit)
        return TransferListing(
            uploads: uploads,
            downloads: downloads,
            isComplete: areAllUploads && areAllDownloads
        )
    }

    /// Ends the loop over queued operations.
    private struct Enough: Error {}

    private func queuedUploads(
        limit: Int,
        greatestScan: Int
    ) throws -> (uploads: [TransferListing.Upload], areAll: Bool) {
        let pipeline = info.pipeline
        let queued = QueuedOperation.where { $0.pipeline == pipeline }
        let queries = [queued.where { $0.status == .active }, queued.where { $0.status != .active }]
        var found: [(row: QueuedOperation.Row, work: CloudWork, upload: CloudWork.Upload)] = []
        var (areAll, scanned) = (true, 0)
        do {
            for query in queries {
                try context.forEachRow(query.sorted { [$0.commit.ascending, $0.id.ascending] }) { row in
                    guard scanned < greatestScan else { throw Enough() }
                    scanned += 1
                    guard let work = try? CloudWork.decoded(row.payload, version: row.payloadVersion),
                        case .content(_, _, let upload) = work
                    else { return }
                    guard found.count < limit else { throw Enough() }
                    found.append((row: row, work: work, upload: upload))
                }
            }
        } catch is Enough {
            areAll = false
        }
        let arrived = try bytesArrived(of: found.map { $0.work.node })
        let uploads = try found.map { row, work, upload in
            TransferListing.Upload(
                operation: row.id.rawValue,
                node: work.node,
                path: try context.find(nodeID(work.node))?.path,
                sections: upload.sections,
                status: row.status,
                attempts: row.attempts,
                startedAt: row.startedAt,
                progress: row.status == .active ? row.progress : nil,
                bytesDone: arrived[work.node].map { min($0, upload.size ?? .max) },
                bytesTotal: upload.size
            )
        }
        return (uploads, areAll)
    }

    /// The bytes of uploads in parts that have arrived, by the numbers of their nodes. The last part counts as a whole
    /// one.
    private func bytesArrived(of numbers: [Int64]) throws -> [Int64: Int64] {
        var arrived: [Int64: Int64] = [:]
        for upload in try context.fetch(PartialUpload.where { $0.node.in(numbers) }) {
            let count = upload.parts.count { !$0.isEmpty }
            let (bytes, isTooLarge) = upload.partSize.multipliedReportingOverflow(by: Int64(count))
            let (sum, isSumTooLarge) = arrived[upload.node, default: 0].addingReportingOverflow(bytes)
            // Only a damaged store has such numbers.
            if !isTooLarge, !isSumTooLarge { arrived[upload.node] = sum }
        }
        return arrived
    }

    private func markedDownloads(limit: Int) throws -> (downloads: [TransferListing.Download], areAll: Bool) {
        let (account, header) = (account, ContentSections.header.rawValue)
        // Headers are not files.
        let marks = try context.fetch(
            DownloadMark.where { $0.node.account == account && $0.section != header }.limit(limit + 1)
        )
        var seen: Set<Downloads.SectionID> = []
        var downloads: [TransferListing.Download] = []
        for mark in marks.prefix(limit) {
            let section = ContentSections(rawValue: mark.section)
            // Marks of several versions are one download.
            guard let node = mark.node, mayDownload(section, of: node),
                seen.insert(Downloads.SectionID(node: node.id.rawValue, section: section)).inserted
            else { continue }
            downloads.append(
                TransferListing.Download(
                    node: node.id.rawValue,
                    path: node.path,
                    section: section,
                    bytesTotal: section == .data ? node.remote?.size : nil
                )
            )
        }
        return (downloads, marks.count <= limit)
    }
}
