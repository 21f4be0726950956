public import Foundation

/// A time in which an account sends nothing to its remote, since that cannot be reached, breaks connections, or has asked for a pause.
///
/// Queued operations stay queued, use no attempt, and continue by themselves.
public struct RemoteOutage: Sendable {
    /// When it has begun.
    public let since: Date
    /// When the remote is asked next, by the account's clock. Nil while it is being asked, and while the network is away: then it is asked when the
    /// network returns.
    public let restsUntil: Date?
    /// What the remote, or the way to it, has refused last.
    public let error: RemoteError
}

extension CloudAccount {
    /// Why nothing is sent to the remote now, and until when; nil if nothing is known to keep it from being sent.
    public var outage: RemoteOutage? { availability.outage }

    /// The outage now, and whenever it has changed: nil when the remote is asked again. A slow reader misses states in between, but never the
    /// newest. Ends when the account is closed.
    ///
    /// ```swift
    /// for await outage in account.outageChanges {
    ///     banner.text = outage.map { "The server is away: \($0.error.message)" }
    /// }
    /// ```
    public var outageChanges: AsyncStream<RemoteOutage?> { availability.outageChanges() }
}
