import Foundation
import GRDB

extension CloudError {
    /// Converts an error of the index or the file system to an error of the cache.
    static func cache(_ error: any Error, _ folder: URL) -> any Error {
        switch error {
        case is CloudError, is CancellationError: return error
        case let error as DatabaseError:
            switch error.resultCode {
            case .SQLITE_CORRUPT, .SQLITE_NOTADB:
                return CloudError(
                    .cacheDamaged,
                    "The index of the cache in '\(folder.path)' is damaged. Delete the folder.",
                    underlying: error
                )
            case .SQLITE_MISUSE:
                return CloudError(.cacheClosed, "The cache in '\(folder.path)' is closed.", underlying: error)
            default: break
            }
        default: break
        }
        return CloudError(
            .cacheUnavailable,
            "The cache in '\(folder.path)' cannot be used: \(error)",
            underlying: error
        )
    }
}
