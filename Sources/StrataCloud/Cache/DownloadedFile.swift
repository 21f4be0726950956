public import Foundation
import Synchronization

/// A file with downloaded content, which stays where it is until it is released.
///
/// As long as it is not released the file is there, whatever happens to the cache: removal, replacement by a newer version, expiry. Release it when the
/// file is not needed any more, or has been opened; one that is forgotten stays until the ``DiskCache`` is closed or the process ends.
///
/// Isolation: any.
public final class DownloadedFile: Sendable {
    /// Where the file is.
    public let file: URL
    /// The version of the content, if it is known.
    public let eTag: ETag?
    /// Which sections it holds.
    public let sections: ContentSections
    /// How many bytes it has.
    public let size: Int64
    /// Whether it is deleted when it is released; otherwise it stays in the cache.
    public let isTemporary: Bool
    private let body: Mutex<(@Sendable () -> Void)?>

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
        self.body = Mutex(body)
    }

    /// Says that the file is not needed any more. Safe to call twice; returns at once.
    public func release() {
        let body = body.withLock { body in
            defer { body = nil }
            return body
        }
        body?()
    }
}
