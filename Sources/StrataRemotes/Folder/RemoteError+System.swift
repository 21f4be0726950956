import Foundation

extension RemoteError {
    /// Creates the default error for an error of the file system, if the caller does not know more.
    init(_ error: SystemError, key: RemoteKey?, remote: String) {
        let code: Code =
            switch error.code {
            case ENOSPC, EDQUOT, EFBIG: .outOfSpace
            case ENAMETOOLONG, EILSEQ, EINVAL: .invalidKey
            case EACCES, EPERM, EROFS: .forbidden
            case ENOENT: .notFound
            case ENOTDIR, ELOOP: .parentMissing
            case EEXIST, EISDIR: .occupied
            case ENOTEMPTY: .notEmpty
            case EXDEV: .unsupported
            default: .unavailable
            }
        self.init(code, "\(remote): \(error)", key: key, underlying: error)
    }
}
