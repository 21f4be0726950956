public import Foundation

/// The clock and the newest position of a home at one moment.
public struct HomeMoment: Sendable, Hashable {
    /// The time by the clock of the home.
    public let time: Date
    /// The position of the newest transaction.
    public let position: HomePosition

    /// Creates a moment.
    public init(time: Date, position: HomePosition) {
        self.time = time
        self.position = position
    }
}

/// How far a node was when it last reported to its home.
public struct HomeNodeStatus: Sendable, Hashable {
    /// The name of the node. Strata names nodes after their machine and the path of their working copy.
    public let name: String
    /// The random id under which the node has published since it was opened: see ``HomeTransaction/node``.
    public let id: UUID
    /// The last transaction that the working copy of the node contained.
    public let position: HomePosition
    /// When the node reported, by the clock of the home.
    public let time: Date
    /// The seconds since the report, by the clock of the home.
    public let silence: TimeInterval
    /// The newest transaction of the home when this status was read.
    public let newest: HomePosition

    /// The number of transactions that the home has after ``position`` now; 0 if the node is ahead. The node may have
    /// applied some of them since its report.
    public var transactionsBehind: Int64 { newest.transactionCount(after: position) }
    /// The number of transactions that the node has beyond the newest one of the home; usually 0. Otherwise the home
    /// has lost them, for example in a failover to a standby that lacked them. The node cannot commit until its stack
    /// is opened again.
    public var transactionsAhead: Int64 { position.transactionCount(after: newest) }

    /// Creates a status.
    public init(
        name: String,
        id: UUID,
        position: HomePosition,
        time: Date,
        silence: TimeInterval,
        newest: HomePosition
    ) {
        self.name = name
        self.id = id
        self.position = position
        self.time = time
        self.silence = silence
        self.newest = newest
    }
}
