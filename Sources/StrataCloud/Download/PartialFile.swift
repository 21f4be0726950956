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

/// What has arrived of a version of something, in a file that one transfer at a time goes on with.
///
/// The names of files begin with what stands for their account.
final class PartialFile {
    private let file: URL
    private let mark: String
    private let handle: FileHandle

    /// - Parameters:
    ///   - version: others have files of their own; those of earlier versions are removed.
    ///   - limit: how many bytes are kept of transfers that nobody is at, those of them that have rested the longest going first.
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
            // Another process is at it: this transfer begins in a file of its own.
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

    /// Opens a file, which is made where it is not there; nil where another transfer holds it.
    private static func open(_ file: URL) throws -> FileHandle? {
        // By the system's own call: that of `FileManager` puts a new file in place of one that somebody has made meanwhile, and is at work on.
        #if canImport(Darwin)
            let raw = Darwin.open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
        #elseif canImport(Musl)
            let raw = Musl.open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
        #else
            let raw = Glibc.open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
        #endif
        guard raw >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        let handle = FileHandle(fileDescriptor: raw, closeOnDealloc: true)
        // Whoever has held it until now has given it another name.
        guard flock(raw, LOCK_EX | LOCK_NB) == 0, isNamed(raw, file) else {
            try handle.close()
            return nil
        }
        return handle
    }

    /// Whether an open file is the one that has a name.
    private static func isNamed(_ raw: CInt, _ file: URL) -> Bool {
        var (opened, named) = (stat(), stat())
        guard fstat(raw, &opened) == 0, stat(file.path, &named) == 0 else { return false }
        return opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
    }

    /// Removes what was begun of other versions, and what processes that were killed have left behind.
    private static func sweep(_ folder: URL, _ prefix: String, _ own: String, _ limit: Int64) throws {
        var resting: [(file: URL, size: Int64, date: Date)] = []
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where !name.hasSameBytes(as: own) {
            let file = folder.appending(path: name)
            guard let values = try? FileManager.default.attributesOfItem(atPath: file.path),
                let date = values[.modificationDate] as? Date
            else { continue }
            if name.hasBytePrefix(prefix) {
                removeUnused(file)
            } else if name.hasByteSuffix(finished) {
                if date < Date(timeIntervalSinceNow: -day) { try? FileManager.default.removeItem(at: file) }
            } else if date < Date(timeIntervalSinceNow: -lifetime) {
                removeUnused(file)
            } else {
                resting.append((file, (values[.size] as? NSNumber)?.int64Value ?? 0, date))
            }
        }
        var size = resting.reduce(0) { $0 + $1.size }
        for next in resting.sorted(by: { $0.date < $1.date }) where size > limit {
            removeUnused(next.file)
            size -= next.size
        }
    }

    /// Removes a file, unless a transfer is at work on it.
    private static func removeUnused(_ file: URL) {
        guard let handle = try? open(file) else { return }
        try? FileManager.default.removeItem(at: file)
        try? handle.close()
    }

    private static let finished = ".done"
    private static let day: TimeInterval = 86400
    /// How long that is kept which nobody goes on with.
    private static let lifetime = 30 * day

    func size() throws -> Int64 { try using { Int64(try handle.seekToEnd()) } }

    /// Forgets what lies behind an offset.
    func cut(at offset: Int64) throws {
        try using {
            try handle.truncate(atOffset: UInt64(offset))
            try handle.seekToEnd()
        }
    }

    /// What is not written to the end, as on a full disk, stays as far as it goes: the next transfer goes on behind it.
    func append(_ data: Data) throws { try using { try handle.write(contentsOf: data) } }

    /// Gives it another name, so that the next transfer begins anew.
    func finish() throws -> URL {
        let place = file.deletingLastPathComponent().appending(path: mark + UUID().uuidString + Self.finished)
        try using { try FileManager.default.moveItem(at: file, to: place) }
        return place
    }

    /// Says in errors of the system what they mean for a download.
    private func using<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch {
            throw CloudError.cache(error, file.deletingLastPathComponent())
        }
    }

    /// Removes all that has arrived for an account, whole or in part.
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
