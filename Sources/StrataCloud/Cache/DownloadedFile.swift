public import Foundation
import Synchronization

/// A file with downloaded content, which stays at its path until it is released.
///
/// The file exists until it is released, even if the cache removes it, replaces it by a newer version, or its entry
/// expires. Release it after it has been opened, or when it is not needed any more. A file that is never released stays
/// until the ``DiskCache`` is closed or the process ends.
///
/// Isolation: any.
public final class DownloadedFile: Sendable {
    /// The path of the file.
    public let file: URL
    /// The version of the content, if it is known.
    public let eTag: ETag?
    /// The sections that the file contains.
    public let sections: ContentSections
    /// The size in bytes.
    public let size: Int64
    /// Whether releasing the file deletes it. Otherwise it stays in the cache.
    public let isTemporary: Bool
    /// Ends the use of the file; nil after the release.
    private let work: Mutex<Work?>

    private struct Work: Sendable {
        let run: @Sendable () -> Void
    }

    init(
        file: URL,
        eTag: ETag?,
        sections: ContentSections,
        size: Int64,
        isTemporary: Bool,
        release body: @escaping @Sendable () -> Void
    ) {
        self.file = file
        self.eTag = eTag
        self.sections = sections
        self.size = size
        self.isTemporary = isTemporary
        work = Mutex(Work(run: body))
    }

    /// Releases the file when it is not needed any more. Calling this method twice is safe. The method returns at once.
    public func release() {
        let work = work.withLock { $0.take() }
        work?.run()
    }
}
