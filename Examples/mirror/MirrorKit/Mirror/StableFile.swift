import Foundation
import StrataCloud

/// A file that is sent: as it is when it is asked for, or not at all. A file that is written while it is read would arrive as something that
/// it never was.
enum StableFile {
    /// - Returns: what is sent, and how the file is now.
    /// - Throws: ``RemoteError`` with `unavailable` where there is no file: it is being moved, or the next scan finds that it is deleted.
    static func body(_ file: URL) throws -> (RemoteBody, FileStamp) {
        guard let stamp = try? stamp(file) else {
            throw RemoteError(.unavailable, "'\(file.path)' is not there.", retryAfter: .milliseconds(200))
        }
        let body = RemoteBody(size: stamp.size) { range in
            let reader = Reader(file, stamp, range)
            return AsyncThrowingStream(unfolding: { try await reader.next() })
        }
        return (body, stamp)
    }

    private static func stamp(_ file: URL) throws -> FileStamp {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        return try LocalFolder.stamp(handle)
    }

    private actor Reader {
        private let file: URL
        private let stamp: FileStamp
        private var range: Range<Int64>
        private var handle: FileHandle?

        init(_ file: URL, _ stamp: FileStamp, _ range: Range<Int64>) {
            (self.file, self.stamp, self.range) = (file, stamp, range)
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
                    // The last piece is given only where it goes with the others.
                    guard try LocalFolder.stamp(handle) == stamp else { throw changed }
                    try handle.close()
                    self.handle = nil
                }
                return data
            } catch let error as RemoteError {
                throw error
            } catch {
                throw RemoteError(.unreadableBody, "'\(file.path)' cannot be read: \(error)", underlying: error)
            }
        }

        private func open() throws -> FileHandle {
            let handle = try FileHandle(forReadingFrom: file)
            guard try LocalFolder.stamp(handle) == stamp else { throw changed }
            try handle.seek(toOffset: UInt64(range.lowerBound))
            self.handle = handle
            return handle
        }

        private var changed: RemoteError {
            RemoteError(
                .unavailable,
                "'\(file.path)' is being written; it is sent when that is over.",
                retryAfter: .seconds(1)
            )
        }
    }
}
