import Foundation

/// The end-to-end encryption of an account's content: the keys, and the rule for unencrypted files.
///
/// Pass it when opening a ``CloudAccount``.
///
/// ```swift
/// let encryption = ContentEncryption(key)  // an `AccountKey`, the same on all machines of the account
/// ```
///
/// Content is encrypted, but names are not: the remote sees the tree, the sizes and the times.
///
/// Isolation: any.
public struct ContentEncryption: Sendable {
    /// Whether files at the remote that are not encrypted are accepted.
    ///
    /// Such files are not authenticated: every writer at the remote can put one in place of an encrypted file. If this
    /// is false, they are refused with `notEncrypted`.
    public let readsPlainFiles: Bool
    private let provider: @Sendable () async throws -> AccountKeys

    /// Creates an encryption with a fixed key.
    ///
    /// - Parameters:
    ///   - key: the key that encrypts new uploads.
    ///   - earlier: keys that decrypt older files.
    ///   - readsPlainFiles: see ``readsPlainFiles``.
    public init(_ key: AccountKey, earlier: [AccountKey] = [], readsPlainFiles: Bool = false) {
        self.init(readsPlainFiles: readsPlainFiles) { AccountKeys(key, earlier: earlier) }
    }

    /// Creates an encryption that requests the keys whenever content is encrypted or decrypted.
    ///
    /// Use it if keys may change, or are stored elsewhere.
    ///
    /// - Parameters:
    ///   - readsPlainFiles: see ``readsPlainFiles``.
    ///   - keys: returns the keys. It may be called concurrently. Uploads and downloads rethrow its errors.
    public init(readsPlainFiles: Bool = false, keys: @escaping @Sendable () async throws -> AccountKeys) {
        self.readsPlainFiles = readsPlainFiles
        provider = keys
    }

    func keys() async throws -> AccountKeys { try await provider() }

    /// The text that the files of an account are bound to.
    ///
    /// The text contains neither a path nor an id. So a file can still be decrypted after the remote has copied or
    /// moved it, or if another machine has uploaded it.
    static let binding = "strata.account"

    /// Decrypts the preamble at the beginning of a file of the account.
    func open(_ start: Data) async throws -> EncryptedFile {
        try await EncryptedFile(start, node: Self.binding, keys: keys())
    }
}
