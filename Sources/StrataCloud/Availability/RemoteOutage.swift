public import Foundation

/// A period in which an account sends nothing to its remote, because the remote cannot be reached, breaks connections,
/// or has asked for a pause.
///
/// Queued operations stay queued, do not use up attempts, and continue automatically.
public struct RemoteOutage: Sendable {
    /// When the outage began.
    public let since: Date
    /// The date of the next probe, by the account's clock.
    ///
    /// The date is nil while a probe is running, and while the network is away. When the network returns, the remote is
    /// probed at once.
    public let restsUntil: Date?
    /// The latest error of the remote or of the connection to it.
    public let error: RemoteError
}

extension CloudAccount {
    /// The reason why nothing is sent to the remote now, and the end of the pause.
    ///
    /// The value is nil if the account does not know of an outage.
    public var outage: RemoteOutage? { availability.outage }

    /// The current outage, followed by each change of it. The value is nil when the remote is asked again.
    ///
    /// A slow reader misses intermediate states, but never the newest one. The stream ends when the account is closed.
    ///
    /// ```swift
    /// for await outage in account.outageChanges {
    ///     banner.text = outage.map { "The server is away: \($0.error.message)" }
    /// }
    /// ```
    public var outageChanges: AsyncStream<RemoteOutage?> { availability.outageChanges() }
}
