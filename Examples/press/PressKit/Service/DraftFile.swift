import Foundation

/// A file that gets its name when its bytes are on the disk. All functions block their thread.
final class DraftFile: Sendable {
    private let url: URL
    private let descriptor: Int32

    /// Creates the file.
    ///
    /// - Throws: `POSIXError`, also if the file exists.
    init(_ url: URL) throws {
        self.url = url
        descriptor = open(url.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Self.lastError() }
    }

    deinit { close(descriptor) }

    /// - Throws: `POSIXError`, with `ENOSPC` if the disk is full.
    func append(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = write(descriptor, rest.baseAddress, rest.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw Self.lastError()
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Flushes the bytes, gives the file its name, and flushes the folder. A file of this name is replaced.
    ///
    /// - Throws: `POSIXError`.
    func keep(as place: URL) throws {
        guard fsync(descriptor) == 0 else { throw Self.lastError() }
        guard rename(url.path, place.path) == 0 else { throw Self.lastError() }
        let folder = open(place.deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { throw Self.lastError() }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw Self.lastError() }
    }

    private static func lastError() -> POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
