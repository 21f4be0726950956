import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// A file system of its own in memory, of a chosen size, gone at the end of the test.
///
/// Needs the right to mount, which root has outside of most containers.
public final class SmallDisk: Sendable {
    public let folder: ScratchFolder

    /// Whether this machine lets tests mount.
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

    /// Leaves so many bytes free.
    public func fill(leaving free: Int) throws {
        let filler = folder.file("filler")
        _ = FileManager.default.createFile(atPath: filler.path, contents: nil)
        let handle = try FileHandle(forWritingTo: filler)
        defer { try? handle.close() }
        // Files that other programs write meanwhile take room as well.
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
    /// Whether a file system has no room.
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
