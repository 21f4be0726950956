public import Foundation

extension DiskCache {
    /// A unique path for a new file in the folder of the cache. The file does not exist yet.
    ///
    /// A file that remains there is deleted when the cache is closed. If the process ends first, the next opening of a
    /// cache sweeps the file.
    ///
    /// - Throws: ``CloudError`` with `cacheClosed`.
    public func temporaryPlace() throws -> URL {
        try checkOpen()
        return folder.temporary(of: owner).appending(path: UUID().uuidString)
    }

    /// Wraps a finished download that does not stay in the cache.
    ///
    /// - Parameters:
    ///   - file: the file at ``temporaryPlace()``.
    ///   - sections: the sections that the file contains.
    ///   - eTag: the version of the content; nil if it is unknown.
    /// - Returns: the file, which is deleted when it is released.
    /// - Throws: ``CloudError`` with `fileUnreadable` if the file does not exist, or `cacheClosed`.
    public func temporary(_ file: URL, sections: ContentSections, eTag: ETag?) throws -> DownloadedFile {
        try checkOpen()
        guard let size = CacheFolder.size(file) else {
            throw CloudError(.fileUnreadable, "The file '\(file.path)' does not exist.")
        }
        return DownloadedFile(file: file, eTag: eTag, sections: sections, size: size, isTemporary: true) {
            unlink(file.path)
            // The closure keeps the cache alive, because the folder of the file needs an owner.
            withExtendedLifetime(self) {}
        }
    }
}
