import Foundation

/// A source of bytes that is read chunk by chunk on demand.
protocol ChunkSource: Sendable {
    /// Returns the next bytes, at least one. Nil at the end.
    func next() async throws -> [UInt8]?
}

/// Reads a file or a pipe on a separate queue, so that a blocking read does not block a task's thread.
final class ChunkReader: ChunkSource {
    private static let chunkSize = 64 << 10

    private let handle: FileHandle
    private let queue = DispatchQueue(label: "history.read")

    init(_ handle: FileHandle) { self.handle = handle }

    convenience init(path: String) throws {
        guard let handle = FileHandle(forReadingAtPath: path) else {
            throw GitError(.cannotRead, "\(path) cannot be read: \(String(cString: strerror(errno)))")
        }
        self.init(handle)
    }

    func next() async throws -> [UInt8]? {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try self.read() }) }
        }
    }

    private func read() throws -> [UInt8]? {
        while true {
            var failure: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: Self.chunkSize) { buffer, count in
                let result = Foundation.read(handle.fileDescriptor, buffer.baseAddress, Self.chunkSize)
                failure = result < 0 ? errno : 0
                count = max(result, 0)
            }
            if failure == 0 { return bytes.isEmpty ? nil : bytes }
            if failure != EINTR {
                throw GitError(.cannotRead, "the log cannot be read: \(String(cString: strerror(failure)))")
            }
        }
    }
}
