/// The progress of uploads and downloads: of a whole account, of a node, or of a folder.
public struct CloudProgress: Hashable, Sendable {
    /// The uploads.
    public var uploads: TransferProgress
    /// The downloads since they were marked or requested.
    public var downloads: TransferProgress
    /// The number of queued operations, including waiting ones: uploads, creates of folders, moves, copies and deletes.
    public var operationsLeft: Int
    /// The number of these operations that have failed and wait for a person's decision.
    public var operationsFailed: Int

    /// Creates a progress without any work.
    public init() {
        (uploads, downloads) = (TransferProgress(), TransferProgress())
        (operationsLeft, operationsFailed) = (0, 0)
    }

    /// Whether no work is left.
    public var isIdle: Bool { operationsLeft == 0 && uploads.filesLeft == 0 && downloads.filesLeft == 0 }
}

/// The progress of transfers in one direction.
public struct TransferProgress: Hashable, Sendable {
    /// The number of transferred files.
    public var filesDone = 0
    /// The number of files that are queued, marked or being transferred.
    public var filesLeft = 0
    /// The number of transferred bytes, of completed and running transfers. Bytes of an interrupted transfer count only
    /// if the transfer can be resumed after them.
    public var bytesDone: Int64 = 0
    /// The total number of bytes, done and left; nil while the size of a file is unknown.
    public var bytesTotal: Int64? = 0
    /// The bytes per second, averaged over the last ten seconds, or since the first transfer after a pause began.
    public var throughput: Double = 0

    /// Creates a progress without any transfers.
    public init() {}

    /// The time that the remaining bytes take at the current throughput; nil if the total or the throughput is unknown.
    public var timeLeft: Duration? {
        guard let bytesTotal, filesLeft > 0, throughput > 0 else { return filesLeft == 0 ? .zero : nil }
        return .seconds(Double(max(0, bytesTotal - bytesDone)) / throughput)
    }

    /// The completed fraction, from 0 to 1: by bytes if the total is known, otherwise by files.
    public var fraction: Double {
        if filesLeft == 0 { return 1 }
        if let bytesTotal, bytesTotal > 0 { return min(1, Double(bytesDone) / Double(bytesTotal)) }
        return Double(filesDone) / Double(filesDone + filesLeft)
    }
}

extension TransferProgress: CustomStringConvertible {
    /// A text like `3 of 8 files, 120 of 4000 bytes`.
    public var description: String {
        "\(filesDone) of \(filesDone + filesLeft) files, \(bytesDone) of \(bytesTotal.map(String.init) ?? "?") bytes"
    }
}

/// The nodes that a progress covers.
enum ProgressScope: Hashable, Sendable {
    case account
    case node(Int64)
    /// A folder and everything below it.
    case below(Int64)
}
