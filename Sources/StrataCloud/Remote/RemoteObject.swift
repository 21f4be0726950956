public import Foundation

/// What a remote knows of an object without its content.
public struct RemoteObject: Hashable, Sendable {
    /// Where it lies.
    public var key: RemoteKey
    /// Whether it is a folder. Folders have no content.
    public var isFolder: Bool
    /// Its version; nil for folders, and where the remote has none.
    public var eTag: ETag?
    /// How many bytes it has; nil for folders, and where the remote does not say.
    public var size: Int64?
    /// When it was last written, by the remote's clock; nil where it does not say.
    public var modifiedAt: Date?
    /// The mark that was sent with it by ``RemoteBody/mark``; nil where there was none, or the remote keeps none.
    public var mark: String?

    /// An object of a remote.
    public init(
        key: RemoteKey,
        isFolder: Bool = false,
        eTag: ETag? = nil,
        size: Int64? = nil,
        modifiedAt: Date? = nil,
        mark: String? = nil
    ) {
        self.key = key
        self.isFolder = isFolder
        self.eTag = eTag
        self.size = size
        self.modifiedAt = modifiedAt
        self.mark = mark
    }
}

/// A part of a listing.
public struct RemoteListing: Sendable {
    /// What was found, in no particular order.
    public var objects: [RemoteObject]
    /// Where the listing goes on; nil behind its last part.
    public var next: String?
    /// Whether everything is among ``objects`` that belongs to this part. False if the remote has listed something that cannot be read, such as a
    /// name with broken escapes: a file that is not among the objects may be there then.
    public var isComplete: Bool

    /// A part of a listing.
    public init(objects: [RemoteObject], next: String? = nil, isComplete: Bool = true) {
        self.objects = objects
        self.next = next
        self.isComplete = isComplete
    }
}

/// The content of an object, as it arrives.
public struct RemoteDownload: Sendable {
    /// What the answer says of the object; its size is that of the whole object, also where only a range is sent.
    public var object: RemoteObject
    /// Which bytes of the object follow.
    public var range: Range<Int64>
    /// The bytes. Read once; not reading further ends the transfer. For a task that is cancelled between two chunks the stream just ends, as
    /// streams of Swift do: whoever keeps the bytes counts them, or asks `Task.checkCancellation()`.
    public var chunks: AsyncThrowingStream<Data, any Error>

    /// Content as it arrives.
    public init(object: RemoteObject, range: Range<Int64>, chunks: AsyncThrowingStream<Data, any Error>) {
        self.object = object
        self.range = range
        self.chunks = chunks
    }

    /// The bytes in memory, all of them.
    ///
    /// - Throws: what the stream throws; `CancellationError`; ``RemoteError`` with `damagedContent` where there are fewer or more than announced.
    func data() async throws -> Data {
        var data = Data()
        for try await chunk in chunks { data += chunk }
        // To a task that is cancelled the chunks just end.
        try Task.checkCancellation()
        guard data.count == range.count else {
            throw RemoteError(
                .damagedContent,
                "There are \(data.count) bytes instead of \(range.count).",
                key: object.key
            )
        }
        return data
    }
}

/// What has changed at a remote since a moment.
public struct RemoteChanges: Sendable {
    /// What is new, or of another version, or lies there by a move: also what lies in a folder that was moved.
    public var changed: [RemoteObject]
    /// What is gone. Of a folder everything in it is, whether it is named or not, before what is in `changed` came.
    public var removed: [RemoteKey]
    /// The moment from which the next question goes on.
    public var cursor: String
    /// Whether there is more to ask for at once.
    public var hasMore: Bool

    /// Changes up to a moment.
    public init(changed: [RemoteObject], removed: [RemoteKey], cursor: String, hasMore: Bool = false) {
        self.changed = changed
        self.removed = removed
        self.cursor = cursor
        self.hasMore = hasMore
    }
}
