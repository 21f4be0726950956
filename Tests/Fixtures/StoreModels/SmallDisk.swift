import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// A file system in memory with a chosen size. It is unmounted at the end of the test.
///
/// The process needs the right to mount. Outside of most containers, root has this right.
public final class SmallDisk: Sendable {
    public let folder: ScratchFolder

    /// Whether this machine lets tests mount a file system.
    public static let isAllowed: Bool = {
        guard let disk = try? SmallDisk(size: "64k") else { return false }
        return (try? Data().write(to: disk.folder.file("probe"))) != nil
    }()

    struct Refused: Error {
        let reason: String
    }

    public init(size: String) throws {
        folder = try ScratchFolder()
        #if canImport(Glibc)
            guard mount("strata-tests", folder.url.path, "tmpfs", 0, "size=\(size)") == 0 else {
                throw Refused(reason: String(cString: strerror(errno)))
            }
        #else
            throw Refused(reason: "only on Linux")
        #endif
    }

    deinit {
        #if canImport(Glibc)
            umount2(folder.url.path, Int32(MNT_DETACH))
        #endif
    }

    public func setReadOnly(_ isReadOnly: Bool) throws {
        #if canImport(Glibc)
            let flags = UInt(MS_REMOUNT) | (isReadOnly ? UInt(MS_RDONLY) : 0)
            guard mount("strata-tests", folder.url.path, "tmpfs", flags, nil) == 0 else {
                throw Refused(reason: String(cString: strerror(errno)))
            }
        #endif
    }

    /// Fills the file system until only `free` bytes are left.
    public func fill(leaving free: Int) throws {
        let filler = folder.file("filler")
        _ = FileManager.default.createFile(atPath: filler.path, contents: nil)
        let handle = try FileHandle(forWritingTo: filler)
        defer { try? handle.close() }
        // The loop repeats, because other programs may write files at the same time.
        for _ in 0..<1_000 {
            let values = try FileManager.default.attributesOfFileSystem(forPath: folder.url.path)
            let room = (values[.systemFreeSize] as? NSNumber)?.intValue ?? 0
            if room <= free { return }
            do { try handle.write(contentsOf: Data(repeating: 1, count: min(room - free, 65_536))) } catch {
                guard error.isFullDisk else { throw error }
            }
        }
    }

    public func free() throws { try FileManager.default.removeItem(at: folder.file("filler")) }
}

extension Error {
    /// Whether the error reports a full file system.
    fileprivate var isFullDisk: Bool {
        var error: NSError? = self as NSError
        while let this = error {
            if this.domain == NSPOSIXErrorDomain, this.code == Int(ENOSPC) { return true }
            if this.domain == NSCocoaErrorDomain, this.code == CocoaError.fileWriteOutOfSpace.rawValue { return true }
            error = this.userInfo[NSUnderlyingErrorKey] as? NSError
        }
        return false
    }
}
