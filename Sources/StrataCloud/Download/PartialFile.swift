import Crypto
import Foundation
import Strata

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file with the bytes of one version that have arrived so far. Only one transfer at a time writes to it.
///
/// File names begin with a digest of the account id.
final class PartialFile {
    private let file: URL
    private let mark: String
    private let handle: FileHandle

    /// Opens the partial file of a version, or creates it.
    ///
    /// - Parameters:
    ///   - version: the version of the content. Each version has a separate file. Files of other versions are removed.
    ///   - limit: the maximum number of bytes of interrupted transfers to keep. The oldest files are removed first.
    init(_ folder: URL, _ account: String, _ name: String, _ version: String, limit: Int64 = .max) throws {
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            mark = Self.mark(of: account)
            let prefix = mark + name + "-"
            let own = prefix + Self.digest(version)
            try Self.sweep(folder, prefix, own, limit)
            if let handle = try Self.open(folder.appending(path: own)) {
                (file, self.handle) = (folder.appending(path: own), handle)
                return
            }
            // Another process writes to the file, so this transfer starts from the beginning in a separate file.
            let alone = folder.appending(path: prefix + UUID().uuidString)
            guard let handle = try Self.open(alone) else { throw POSIXError(.EAGAIN) }
            (file, self.handle) = (alone, handle)
        } catch {
            throw CloudError(
                .cacheUnavailable,
                "'\(folder.path)' cannot be written to.",
                underlying: error
            )
        }
    }

    deinit { try? handle.close() }

    private static func mark(of account: String) -> String { digest(account) + "-" }

    private static func digest(_ text: String) -> String {
        Hexadecimal.text(SHA256.hash(data: Data(text.utf8)).prefix(12))
    }

    /// Opens a file, and creates it if it does not exist. Returns nil if another transfer holds it.
    private static func open(_ file: URL) throws -> FileHandle? {
        // This calls the system directly. `FileManager` would replace a file that another process has created meanwhile
        // and is writing.
        #if canImport(Darwin)
            let raw = Darwin.open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
        #elseif canImport(Musl)
            let raw = Musl.open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
        #else
            let raw = Glibc.open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
        #endif
        guard raw >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        let handle = FileHandle(fileDescriptor: raw, closeOnDealloc: true)
        // A previous holder of the file may have renamed it.
        guard flock(raw, LOCK_EX | LOCK_NB) == 0, isNamed(raw, file) else {
            try handle.close()
            return nil
        }
        return handle
    }

    /// Whether an open file still has this name.
    private static func isNamed(_ raw: CInt, _ file: URL) -> Bool {
        var (opened, named) = (stat(), stat())
        guard fstat(raw, &opened) == 0, stat(file.path, &named) == 0 else { return false }
        return opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
    }

    /// Removes partial files of other versions, and files that killed processes have left.
    private static func sweep(_ folder: URL, _ prefix: String, _ own: String, _ limit: Int64) throws {
        var resting: [(file: URL, size: Int64, date: Date)] = []
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where !name.hasSameBytes(as: own) {
            let file = folder.appending(path: name)
            guard let status = FileStatus(at: file.path) else { continue }
            if name.hasBytePrefix(prefix) {
                removeUnused(file)
            } else if name.hasByteSuffix(finished) {
                guard status.modifiedAt < Date(timeIntervalSinceNow: -day) else { continue }
                try? FileManager.default.removeItem(at: file)
            } else if status.modifiedAt < Date(timeIntervalSinceNow: -lifetime) {
                removeUnused(file)
            } else {
                resting.append((file, status.size, status.modifiedAt))
            }
        }
        var size = resting.reduce(0) { $0 + $1.size }
        for next in resting.sorted(by: { $0.date < $1.date }) where size > limit {
            removeUnused(next.file)
            size -= next.size
        }
    }

    /// Removes a file, unless a transfer is writing to it.
    private static func removeUnused(_ file: URL) {
        guard let handle = try? open(file) else { return }
        try? FileManager.default.removeItem(at: file)
        try? handle.close()
    }

    private static let finished = ".done"
    private static let day: TimeInterval = 86400
    /// The time, in seconds, that an abandoned partial file is kept: 30 days.
    private static let lifetime = 30 * day

    func size() throws -> Int64 { try using { Int64(try handle.seekToEnd()) } }

    /// Discards the bytes after an offset, and continues there.
    func cut(at offset: Int64) throws {
        try using {
            // ext4 begins to write a file that was truncated to zero bytes when the file is closed.
            guard try handle.seekToEnd() != offset else { return }
            try handle.truncate(atOffset: UInt64(offset))
            try handle.seekToEnd()
        }
    }

    /// Appends bytes. A partly written chunk, as on a full disk, stays, and the next transfer resumes after it.
    func append(_ data: Data) throws { try using { try handle.write(contentsOf: data) } }

    /// Renames the finished file, so that the next transfer starts from the beginning.
    func finish() throws -> URL {
        let place = file.deletingLastPathComponent().appending(path: mark + UUID().uuidString + Self.finished)
        try using { try FileManager.default.moveItem(at: file, to: place) }
        return place
    }

    /// Converts errors of the system into the errors of a download.
    private func using<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch {
            throw CloudError.cache(error, file.deletingLastPathComponent())
        }
    }

    /// Removes all partial and finished files of an account.
    static func removeAll(of account: String, in folder: URL) throws {
        do {
            let mark = Self.mark(of: account)
            guard FileManager.default.fileExists(atPath: folder.path) else { return }
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.hasBytePrefix(mark)
            {
                guard unlink(folder.appending(path: name).path) == 0 || errno == ENOENT else {
                    throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
                }
            }
        } catch {
            throw CloudError(.cacheUnavailable, "'\(folder.path)' cannot be emptied.", underlying: error)
        }
    }
}
