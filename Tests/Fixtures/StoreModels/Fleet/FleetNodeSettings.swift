/// The settings of a node of a fleet. A test passes them to `strata-crash node` as JSON.
public struct FleetNodeSettings: Codable, Sendable {
    public enum Mode: String, Codable, Sendable {
        /// Inserts the rows that the work needs, and ends.
        case found
        /// Works until the file ``FleetNodeSettings/stopFile`` exists.
        case work
        /// Inserts the rows that the work needs, and then works.
        case foundAndWork
        /// Removes the schedule, runs the queued operations until none is left, applies the commits that the home has, and
        /// ends. No other node works meanwhile.
        case settle
        /// Applies the commits that the home has, and ends.
        case catchUp
    }

    /// A step at which the process ends by SIGKILL: the n-th one of its kind, counted from 1.
    public struct Step: Codable, Sendable, CustomStringConvertible {
        /// A kind of `CKillSwitch`, or one of ``homeKinds``.
        public var kind: String
        public var number: Int

        public init(kind: String, number: Int) { (self.kind, self.number) = (kind, number) }

        /// The calls to the home that have a step before and after them. A node takes the lock only if another node has
        /// committed within the last second. Otherwise its commits have only the steps of publishing.
        public static let calls = ["open", "copy", "lock", "publish", "reserveIDs"]

        /// The kinds of transactions that have a step before and after they are published, in addition to those of
        /// `publish`:
        ///
        /// - a `batch`,
        /// - a `group` of commits, which share the transaction,
        /// - a `pass` of a pipeline,
        /// - a commit of a context, with the lock of the home (`locked`) or without it (`optimistic`).
        public static let transactions = ["batch", "group", "pass", "locked", "optimistic"]

        /// The kinds of steps of the home. A `portion` is a part of the rows of a copy, which the node has inserted.
        public static let homeKinds = kinds(around: calls + transactions) + ["portion"]

        /// The kinds of steps before and after calls or transactions: "before lock", "after lock".
        public static func kinds(around names: [String]) -> [String] {
            names.flatMap { ["before \($0)", "after \($0)"] }
        }

        public var description: String { "\(kind) \(number)" }
    }

    public var mode: Mode
    /// The connection string of the home.
    public var connection: String
    /// The name of the store in the home.
    public var store: String
    /// The path of the working copy.
    public var copy: String
    public var stopFile: String
    /// The name of the process in its commits. Each process of a store has a different one, without spaces.
    public var life: String
    public var killAt: Step?
    /// The seconds after which a call of the home gives up.
    public var timeout = 5.0
    /// The seconds by which the clock of the node is ahead.
    public var clockOffset = 0.0
    /// Whether `found` makes a schedule.
    public var hasSchedule = false
    /// The longest pause between two commits of a kind, in milliseconds.
    public var maxPause = 15
    /// The number of transactions that the home keeps for other nodes; nil for the default.
    public var keptTransactions: Int64?

    public init(mode: Mode, connection: String, store: String, copy: String, stopFile: String, life: String) {
        self.mode = mode
        self.connection = connection
        self.store = store
        self.copy = copy
        self.stopFile = stopFile
        self.life = life
    }
}
