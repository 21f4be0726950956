public import Foundation

/// The metadata that a remote has of an object, without its content.
public struct RemoteObject: Hashable, Sendable {
    /// The key of the object.
    public var key: RemoteKey
    /// Whether the object is a folder. Folders do not have content.
    public var isFolder: Bool
    /// The version; nil for folders, and if the remote does not have versions.
    public var eTag: ETag?
    /// The size in bytes; nil for folders, and if the remote does not report it.
    public var size: Int64?
    /// The date of the last write, by the remote's clock; nil if the remote does not report it.
    public var modifiedAt: Date?
    /// The mark that was sent as ``RemoteBody/mark``; nil if none was sent, or if the remote does not store marks.
    public var mark: String?

    /// Creates the metadata of an object.
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
    /// The objects that were found, in no particular order.
    public var objects: [RemoteObject]
    /// The position of the next part; nil after the last part.
    public var next: String?
    /// Whether ``objects`` contains everything that belongs to this part.
    ///
    /// The value is false if the remote has listed an object that cannot be read, such as a name with broken escapes.
    /// Then a file that is not among the objects may exist anyway.
    public var isComplete: Bool

    /// Creates a part of a listing.
    public init(objects: [RemoteObject], next: String? = nil, isComplete: Bool = true) {
        self.objects = objects
        self.next = next
        self.isComplete = isComplete
    }
}

/// The content of an object, as it arrives.
public struct RemoteDownload: Sendable {
    /// The metadata in the answer. The size is the size of the whole object, even if the answer contains only a range.
    public var object: RemoteObject
    /// The range of the object's bytes that ``chunks`` contains.
    public var range: Range<Int64>
    /// The bytes.
    ///
    /// The stream can be read once. The transfer ends if the reader stops reading. If the task is cancelled between two
    /// chunks, the stream just ends, as Swift's streams do. A reader that stores the bytes must therefore count them,
    /// or call `Task.checkCancellation()`.
    public var chunks: AsyncThrowingStream<Data, any Error>

    /// Creates a download.
    public init(object: RemoteObject, range: Range<Int64>, chunks: AsyncThrowingStream<Data, any Error>) {
        self.object = object
        self.range = range
        self.chunks = chunks
    }

    /// All bytes in memory.
    ///
    /// - Throws: the errors of the stream; `CancellationError`; ``RemoteError`` with `damagedContent` if there are
    ///   fewer or more bytes than announced.
    package func data() async throws -> Data {
        var data = Data()
        for try await chunk in chunks { data += chunk }
        // If the task is cancelled, the chunks just end.
        try Task.checkCancellation()
        guard data.count == range.count else {
            throw RemoteError(
                .damagedContent,
                "\(data.count) bytes have arrived instead of \(range.count).",
                key: object.key
            )
        }
        return data
    }
}
