public import Foundation

/// Bytes to upload to a remote: from memory, from a file, or from a stream.
///
/// A body can be read more than once, in whole or in parts, because a transfer may break off.
public struct RemoteBody: Sendable {
    /// The number of bytes.
    public let size: Int64
    /// A short text that the remote stores with the object, if it can, and returns as ``RemoteObject/mark``.
    ///
    /// The mark identifies a repeated write.
    public var mark: String?
    /// The media type, for people who look into the remote. Nil means `application/octet-stream`.
    public var mediaType: String?
    /// Called with each range that an upload leaves out, because the remote has its bytes already.
    package var onSkip: (@Sendable (Range<Int64>) -> Void)?
    /// All bytes, if they are in memory already.
    package let bytes: Data?
    /// Returns the bytes of a range in chunks, which are read one after the other.
    private let open: @Sendable (Range<Int64>) async throws -> AsyncThrowingStream<Data, any Error>

    /// Creates a body from bytes in memory.
    public init(_ data: Data) {
        self.init(size: Int64(data.count), bytes: data) { range in
            let part = data[data.startIndex + Int(range.lowerBound)..<data.startIndex + Int(range.upperBound)]
            return AsyncThrowingStream { continuation in
                if !part.isEmpty { continuation.yield(part) }
                continuation.finish()
            }
        }
    }

    /// Creates a body from a file, with the current length of the file.
    ///
    /// - Throws: ``RemoteError`` with `unreadableBody` if the file cannot be read. Reading the body throws it too if
    ///   the file has become shorter.
    public init(file: URL) throws {
        let source = try FileSource(file)
        self.init(size: source.size) { range in source.chunks(range) }
    }

    /// Creates a body from another source of bytes.
    ///
    /// - Parameters:
    ///   - size: the number of bytes.
    ///   - open: returns the bytes of a range, from its lower bound. It may be called several times, also concurrently
    ///     for several ranges.
    public init(
        size: Int64,
        open: @escaping @Sendable (Range<Int64>) async throws -> AsyncThrowingStream<Data, any Error>
    ) {
        self.init(size: size, bytes: nil, open)
    }

    private init(
        size: Int64,
        bytes: Data?,
        _ open: @escaping @Sendable (Range<Int64>) async throws -> AsyncThrowingStream<Data, any Error>
    ) {
        self.size = size
        self.bytes = bytes
        self.open = open
    }

    /// The bytes of a range, or all of them, in chunks.
    public func chunks(_ range: Range<Int64>? = nil) async throws -> AsyncThrowingStream<Data, any Error> {
        try await open(range ?? 0..<size)
    }

    /// A body for a range of these bytes.
    public func part(_ range: Range<Int64>) -> RemoteBody {
        var part = RemoteBody(size: Int64(range.count)) { [open] inner in
            try await open(range.lowerBound + inner.lowerBound..<range.lowerBound + inner.upperBound)
        }
        part.mediaType = mediaType
        return part
    }

    /// All bytes in memory.
    ///
    /// - Throws: ``RemoteError`` with `unreadableBody` if there are fewer or more bytes than ``size``; the errors of
    ///   the source; `CancellationError` if the task is cancelled while the source is read.
    public func data() async throws -> Data {
        if let bytes { return bytes }
        var data = Data()
        data.reserveCapacity(Int(size))
        for try await chunk in try await chunks() {
            data.append(chunk)
            guard data.count <= size else { break }
        }
        // If the task is cancelled, the chunks just end.
        try Task.checkCancellation()
        guard data.count == size else { throw RemoteError.wrongSize(Int64(data.count), size) }
        return data
    }

    /// The same bytes, in memory if there are at most 256 KiB. They are then read from the source once, and are the
    /// same for each later read.
    package func gathered() async throws -> RemoteBody {
        guard bytes == nil, size <= Self.few else { return self }
        var body = RemoteBody(try await data())
        (body.mark, body.mediaType) = (mark, mediaType)
        return body
    }

    /// The maximum number of bytes that are kept in memory during an upload: 256 KiB.
    private static let few: Int64 = 256 << 10
}

/// A file that is read in chunks.
private struct FileSource: Sendable {
    let file: URL
    let size: Int64

    static let chunkSize = 256 * 1024

    init(_ file: URL) throws {
        self.file = file
        do {
            let values = try FileManager.default.attributesOfItem(atPath: file.path)
            guard values[.type] as? FileAttributeType == .typeRegular, let size = values[.size] as? NSNumber else {
                throw RemoteError(.unreadableBody, "'\(file.path)' is not a file.")
            }
            self.size = size.int64Value
        } catch let error as RemoteError {
            throw error
        } catch {
            throw RemoteError(.unreadableBody, "'\(file.path)' cannot be read: \(error)", underlying: error)
        }
    }

    func chunks(_ range: Range<Int64>) -> AsyncThrowingStream<Data, any Error> {
        let reader = Reader(file, range)
        return AsyncThrowingStream(unfolding: { try await reader.next() })
    }

    private actor Reader {
        private let file: URL
        private var range: Range<Int64>
        private var handle: FileHandle?

        init(_ file: URL, _ range: Range<Int64>) { (self.file, self.range) = (file, range) }

        func next() throws -> Data? {
            guard !range.isEmpty else {
                try handle?.close()
                handle = nil
                return nil
            }
            do {
                if handle == nil {
                    handle = try FileHandle(forReadingFrom: file)
                    try handle?.seek(toOffset: UInt64(range.lowerBound))
                }
                let data = try handle?.read(upToCount: min(FileSource.chunkSize, range.count)) ?? Data()
                guard !data.isEmpty else {
                    throw RemoteError(.unreadableBody, "'\(file.path)' became shorter while it was read.")
                }
                range = range.lowerBound + Int64(data.count)..<range.upperBound
                return data
            } catch let error as RemoteError {
                throw error
            } catch {
                throw RemoteError(.unreadableBody, "'\(file.path)' cannot be read: \(error)", underlying: error)
            }
        }
    }
}
