/// What a write needs of the home of its store. Without a home, all writes are alike.
package enum HomeAccess: Sendable {
    /// The home's lock, before the transaction begins: the write cannot run again.
    case locked
    /// The newest state of the home. The write may run twice: first without the home's lock, if the node was alone
    /// recently, then with it.
    case newest
    /// The state that the copy has. The write usually changes nothing. If it changes rows, it needs the newest state,
    /// and may run twice.
    case look
}

/// How the running transaction is joined with the home.
enum HomeJoining: Sendable {
    /// The node has the home's lock.
    case locked
    /// The node does not have the lock. The home stores the transaction only if no other transaction has come first.
    case optimistic
    /// The node does not have the lock, and was not alone recently, so the transaction must not change rows.
    case look

    /// Whether a write may be part of the transaction.
    func admits(_ access: HomeAccess) -> Bool {
        switch self {
        case .locked: true
        case .optimistic: access != .locked
        case .look: access == .look
        }
    }
}

/// A transaction without the home's lock was not based on the newest state, or has found that it needs the lock. Its
/// writes run again.
struct OutdatedTransaction: Error {
    /// Whether an error of a write without the lock is the same with the lock: the disk has failed, or the caller runs
    /// the write again by itself. Other errors may come from rows that another node has changed already.
    static func isFinal(_ error: any Error) -> Bool {
        let passed = (error as? PassedError)?.error ?? (error as? StrataError)?.passed ?? error
        return passed is StaleReads || (error as? StrataError)?.isAccessFailure ?? false
    }
}
