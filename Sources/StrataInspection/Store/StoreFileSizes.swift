import Foundation

/// The sizes of a store's files.
package struct StoreFileSizes: Sendable {
    /// The size of the file in bytes; 0 if it cannot be examined.
    package let file: Int64
    /// The size of the journal beside the file in bytes; 0 without one.
    package let journal: Int64

    /// Reads the sizes.
    ///
    /// - Complexity: two system calls, and those that resolve symbolic links.
    package init(of path: String) {
        let real = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        file = Self.size(of: real)
        journal = Self.size(of: real + "-wal")
    }

    private static func size(of path: String) -> Int64 {
        var info = stat()
        return stat(path, &info) == 0 ? Int64(info.st_size) : 0
    }

    /// A size for people, in units of 1024 bytes, such as `12 KiB`.
    package static func text(_ bytes: Int64) -> String {
        var (size, unit) = (Double(max(bytes, 0)), "bytes")
        for next in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] where size >= 1024 {
            size /= 1024
            unit = next
        }
        let tenths = (size * 10).rounded(.down)
        return size < 10 && unit != "bytes" && tenths.truncatingRemainder(dividingBy: 10) != 0
            ? "\(tenths / 10) \(unit)" : "\(Int64(size)) \(unit)"
    }
}
