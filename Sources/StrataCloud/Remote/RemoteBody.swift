public import Foundation

/// Bytes that are sent to a remote: from memory, from a file, or as they come.
///
/// It can be sent more than once, in whole or in parts, since a transfer may break off.
public struct RemoteBody: Sendable {
    /// How many bytes there are.
    public let size: Int64
    /// A short text that the remote keeps with the object, where it can, and tells by ``RemoteObject/mark``: by it a repeat is recognised.
    public var mark: String?
    /// The media type, for people who look into the remote; `application/octet-stream` where it is nil.
    public var mediaType: String?
    /// What is told of its bytes as they pass.
    var transfer: FollowedTransfer?
    /// All bytes, where they are in memory already.
    let bytes: Data?
    /// Gives the bytes of a range in chunks, which are read one after the other.
    private let open: @Sendable (Range<Int64>) async throws -> AsyncThrowingStream<Data, any Error>

    /// Bytes in memory.
    public init(_ data: Data) {
        self.init(size: Int64(data.count), bytes: data) { range in
            let part = data[data.startIndex + Int(range.lowerBound)..<data.startIndex + Int(range.upperBound)]
            return AsyncThrowingStream { continuation in
                if !part.isEmpty { continuation.yield(part) }
                continuation.finish()
            }
        }
    }

    /// The bytes of a file as long as it is now.
    ///
    /// - Throws: ``RemoteError`` with `unreadableBody` where it cannot be read; reading throws it too where it has become shorter.
    public init(file: URL) throws {
        let source = try FileSource(file)
        self.init(size: source.size) { range in source.chunks(range) }
    }

    /// Bytes from somewhere else.
    ///
    /// - Parameters:
    ///   - size: how many there are.
    ///   - open: gives those of a range, from its lower bound on. May be called several times, also at once for several ranges.
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

    /// A body of a range of these bytes.
    public func part(_ range: Range<Int64>) -> RemoteBody {
        var part = RemoteBody(size: Int64(range.count)) { [open] inner in
            try await open(range.lowerBound + inner.lowerBound..<range.lowerBound + inner.upperBound)
        }
        part.mediaType = mediaType
        return part
    }

    /// All bytes in memory.
    ///
    /// - Throws: ``RemoteError`` with `unreadableBody` where there are fewer or more than ``size``; what the source throws.
    public func data() async throws -> Data {
        if let bytes { return bytes }
        var data = Data()
        data.reserveCapacity(Int(size))
        for try await chunk in try await chunks() { data.append(chunk) }
        guard data.count == size else { throw RemoteError.wrongSize(Int64(data.count), size) }
        return data
    }

    /// The same bytes, in memory if they are few: they are read once then, however often they are wanted, and are the same each time.
    func gathered() async throws -> RemoteBody {
        guard bytes == nil, size <= Self.few else { return self }
        var body = RemoteBody(try await data())
        (body.mark, body.mediaType) = (mark, mediaType)
        return body
    }

    /// How many bytes are kept in memory while they are sent: 256 KiB.
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
                    throw RemoteError(.unreadableBody, "'\(file.path)' has become shorter while it was read.")
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
