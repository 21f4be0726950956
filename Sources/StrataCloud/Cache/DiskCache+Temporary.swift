public import Foundation

extension DiskCache {
    /// A place for a file that nobody else writes to, in the folder of the cache. Nothing is there yet.
    ///
    /// What is left there is deleted when the cache is closed, or swept when one is opened after this process has ended.
    ///
    /// - Throws: ``CloudError`` with `cacheClosed`.
    public func temporaryPlace() throws -> URL {
        try checkOpen()
        return folder.temporary(of: owner).appending(path: UUID().uuidString)
    }

    /// Gives a finished download that is not to stay in the cache.
    ///
    /// - Parameter file: at ``temporaryPlace()``.
    /// - Returns: the file, which is deleted when it is released.
    /// - Throws: ``CloudError`` with `fileUnreadable` where there is none, or `cacheClosed`.
    public func temporary(_ file: URL, sections: ContentSections, eTag: ETag?) throws -> DownloadedFile {
        try checkOpen()
        guard let size = CacheFolder.size(file) else {
            throw CloudError(.fileUnreadable, "There is no file at '\(file.path)'.")
        }
        return DownloadedFile(file: file, eTag: eTag, sections: sections, size: size, isTemporary: true) {
            unlink(file.path)
            // Without the cache the folder of the file would be nobody's.
            withExtendedLifetime(self) {}
        }
    }
}
