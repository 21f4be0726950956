/// How far an account has come with what it sends and what it brings here: all of it, or what concerns a node or a folder.
public struct CloudProgress: Hashable, Sendable {
    /// What is sent.
    public var uploads: TransferProgress
    /// What is brought here, since it was marked or asked for.
    public var downloads: TransferProgress
    /// How many operations are queued: uploads, and what makes folders, moves, copies and deletes. Those that wait are among them.
    public var operationsLeft: Int
    /// How many of these have failed, and wait for somebody.
    public var operationsFailed: Int

    /// Nothing.
    public init() {
        (uploads, downloads) = (TransferProgress(), TransferProgress())
        (operationsLeft, operationsFailed) = (0, 0)
    }

    /// Whether nothing is left.
    public var isIdle: Bool { operationsLeft == 0 && uploads.filesLeft == 0 && downloads.filesLeft == 0 }
}

/// How far transfers of one direction have come.
public struct TransferProgress: Hashable, Sendable {
    /// How many files have been transferred.
    public var filesDone = 0
    /// How many are queued, marked, or on their way.
    public var filesLeft = 0
    /// How many bytes have passed, of files that are done or on their way. Those of a transfer that breaks off do not count, those from which
    /// it can be resumed do.
    public var bytesDone: Int64 = 0
    /// How many bytes there are in all, done and left; nil while the size of something is not known yet.
    public var bytesTotal: Int64? = 0
    /// How many bytes a second have passed in the last ten seconds, or since the account's first transfer behind a pause began.
    public var throughput: Double = 0

    /// Nothing.
    public init() {}

    /// How long what is left takes at the present throughput; nil where the one or the other is not known.
    public var timeLeft: Duration? {
        guard let bytesTotal, filesLeft > 0, throughput > 0 else { return filesLeft == 0 ? .zero : nil }
        return .seconds(Double(max(0, bytesTotal - bytesDone)) / throughput)
    }

    /// How much is done, from 0 to 1: by bytes where the total is known, by files elsewhere.
    public var fraction: Double {
        if filesLeft == 0 { return 1 }
        if let bytesTotal, bytesTotal > 0 { return min(1, Double(bytesDone) / Double(bytesTotal)) }
        return Double(filesDone) / Double(filesDone + filesLeft)
    }
}

extension TransferProgress: CustomStringConvertible {
    /// `3 of 8 files, 120 of 4000 bytes`.
    public var description: String {
        "\(filesDone) of \(filesDone + filesLeft) files, \(bytesDone) of \(bytesTotal.map(String.init) ?? "?") bytes"
    }
}

/// Of what progress is told.
enum ProgressScope: Hashable, Sendable {
    case account
    case node(Int64)
    /// A folder and everything below it.
    case below(Int64)
}
