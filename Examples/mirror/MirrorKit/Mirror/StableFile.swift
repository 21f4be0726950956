import Foundation
import StrataCloud

/// The content of a file for an upload: the version at the time of the request, or an error. A file that changes while
/// it is read could otherwise arrive as a mixture that never existed.
enum StableFile {
    /// - Returns: the content to send, and the file's current stamp.
    /// - Throws: ``RemoteError``: `unavailable` if the file is missing, because it is being moved or the next scan will
    ///   find it deleted; `unsupported` if the file or a folder above it has become another kind of item, such as a
    ///   symbolic link or a FIFO.
    static func body(_ path: LocalPath, in folder: LocalFolder) throws -> (RemoteBody, FileStamp) {
        guard let stamp = try? stamp(path, folder) else {
            if let obstacle = try? folder.obstacle(in: path), let special = obstacle.special {
                throw RemoteError(
                    .unsupported,
                    "'\(path)' is not uploaded: '\(obstacle.path)' is now \(special). Put a file in its place, or "
                        + "delete it."
                )
            }
            throw RemoteError(.unavailable, "'\(path)' does not exist.", retryAfter: .milliseconds(200))
        }
        let body = RemoteBody(size: stamp.size) { range in
            let reader = Reader(path, folder, stamp, range)
            return AsyncThrowingStream(unfolding: { try await reader.next() })
        }
        return (body, stamp)
    }

    private static func stamp(_ path: LocalPath, _ folder: LocalFolder) throws -> FileStamp? {
        guard let handle = try folder.file(path) else { return nil }
        defer { try? handle.close() }
        return try LocalFolder.stamp(handle)
    }

    private actor Reader {
        private let path: LocalPath
        private let folder: LocalFolder
        private let stamp: FileStamp
        private var range: Range<Int64>
        private var handle: FileHandle?

        init(_ path: LocalPath, _ folder: LocalFolder, _ stamp: FileStamp, _ range: Range<Int64>) {
            (self.path, self.folder, self.stamp, self.range) = (path, folder, stamp, range)
        }

        func next() throws -> Data? {
            guard !range.isEmpty else { return nil }
            return try read(Int(min(256 * 1024, range.upperBound - range.lowerBound)))
        }

        private func read(_ count: Int) throws -> Data {
            do {
                let handle = try handle ?? open()
                guard let data = try handle.read(upToCount: count), !data.isEmpty else { throw changed }
                range = range.lowerBound + Int64(data.count)..<range.upperBound
                if range.isEmpty {
                    // The last chunk is returned only if it belongs to the same version as the others.
                    guard try LocalFolder.stamp(handle) == stamp else { throw changed }
                    try handle.close()
                    self.handle = nil
                }
                return data
            } catch let error as RemoteError {
                throw error
            } catch {
                throw RemoteError(.unreadableBody, "'\(path)' cannot be read: \(error)", underlying: error)
            }
        }

        private func open() throws -> FileHandle {
            guard let handle = try folder.file(path), try LocalFolder.stamp(handle) == stamp else { throw changed }
            try handle.seek(toOffset: UInt64(range.lowerBound))
            self.handle = handle
            return handle
        }

        private var changed: RemoteError {
            RemoteError(
                .unavailable,
                "'\(path)' is being written. It is uploaded after the write.",
                retryAfter: .seconds(1)
            )
        }
    }
}
