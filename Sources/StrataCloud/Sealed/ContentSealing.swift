import Foundation

/// That an account seals its content before it leaves the machine, and by which keys. ``CloudAccount`` is opened with it.
///
/// ```swift
/// let sealing = ContentSealing(key)  // an `AccountKey`, the same on all machines of the account
/// ```
///
/// Content is sealed, names are not: the remote sees the tree, the sizes and the times.
///
/// Isolation: any.
public struct ContentSealing: Sendable {
    /// Whether files of the remote that are not sealed are read as they are. Nobody vouches for these: whoever can write to the remote can put
    /// one in place of a sealed one. Where it is false they are refused with `notSealed`.
    public let readsPlainFiles: Bool
    private let provider: @Sendable () async throws -> AccountKeys

    /// Sealing by a key.
    ///
    /// - Parameters:
    ///   - key: what is sent from now on is sealed with it.
    ///   - earlier: keys that open what was sealed before.
    public init(_ key: AccountKey, earlier: [AccountKey] = [], readsPlainFiles: Bool = false) {
        self.init(readsPlainFiles: readsPlainFiles) { AccountKeys(key, earlier: earlier) }
    }

    /// Sealing by keys that are asked for whenever something is sealed or opened, since they may change, or are kept elsewhere.
    ///
    /// - Parameter keys: may be called several times at once. What it throws, the upload or download throws.
    public init(readsPlainFiles: Bool = false, keys: @escaping @Sendable () async throws -> AccountKeys) {
        self.readsPlainFiles = readsPlainFiles
        provider = keys
    }

    func keys() async throws -> AccountKeys { try await provider() }

    /// What the files of an account are bound to. Neither a place nor a number, so that what the remote copies and moves, and what other machines
    /// have sent, stays open.
    static let binding = "strata.account"

    /// Opens the beginning of a file of the account.
    func open(_ start: Data) async throws -> SealedFile {
        try await SealedFile(start, node: Self.binding, keys: keys())
    }
}
