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
}
