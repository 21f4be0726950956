/// The settings of a node of a fleet. A test passes them to `strata-crash node` as JSON.
public struct FleetNodeSettings: Codable, Sendable {
    public enum Mode: String, Codable, Sendable {
        /// Inserts the rows that the work needs, and ends.
        case found
        /// Works until the file ``FleetNodeSettings/stopFile`` exists.
        case work
        /// Removes the schedule, runs the queued operations until none is left, and ends. No other node works meanwhile.
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

        /// The moments before and after the calls that a commit makes to its home. A node takes the lock only if another
        /// node has committed within the last second. Otherwise its commits have only the steps of publishing.
        public static let homeKinds = ["before lock", "after lock", "before publish", "after publish"]

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

    public init(mode: Mode, connection: String, store: String, copy: String, stopFile: String, life: String) {
        self.mode = mode
        self.connection = connection
        self.store = store
        self.copy = copy
        self.stopFile = stopFile
        self.life = life
    }
}
