import StoreModels
import StrataPipeline

/// How the pipeline of a history is opened, and the schedule that queues operations in it.
struct FeatureRules {
    private static let rates = [nil, RateLimit(1, per: .seconds(8)), RateLimit(2, per: .seconds(8))]

    let ordering: PipelineOrdering
    let onFailure: FailurePolicy
    let maxConcurrent: Int
    let maxPerLane: Int?
    let maxGlobally: Int?
    let ratePerLane: RateLimit?
    /// The rate limit of the lane `b`, in place of the common one.
    let rateOfB: RateLimit?
    let maxAttempts: Int?
    /// The interval of the schedule, in seconds.
    let interval: Int
    let overlap: OverlapPolicy
    let catchUp: CatchUp

    init(_ dice: inout Dice) {
        ordering = dice.chance(60) ? .flat : .fifo
        onFailure = dice.pick(FailurePolicy.allCases)!
        maxConcurrent = dice.number(1..<5)
        maxPerLane = ordering == .flat ? dice.pick([nil, 1, 2])! : nil
        maxGlobally = dice.pick([nil, 1, 3])!
        ratePerLane = dice.pick(Self.rates)!
        rateOfB = dice.pick(Self.rates)!
        maxAttempts = dice.pick([nil, 1, 3])!
        interval = dice.pick([20, 90])!
        overlap = dice.pick(OverlapPolicy.allCases)!
        catchUp = dice.pick([CatchUp.none, .one, .all(limit: 3)])!
    }

    /// The rate limit of a lane; nil for any number.
    func rate(of lane: String) -> RateLimit? { lane == "b" ? rateOfB ?? ratePerLane : ratePerLane }
}

/// One step of a history. All times are in seconds.
enum FeatureStep: Sendable {
    /// An operation to queue.
    struct Draft: Sendable {
        let name: String
        let lane: String
        let priority: Int
        var prerequisites: [String: DependencyPolicy] = [:]
        var tags: [String] = []
        // Options; nil for those of the pipeline.
        var expires: Int?
        var maxAttempts: Int?
        var timeout: Int?
    }

    /// The end of an attempt by its handler.
    enum End: Sendable {
        case done
        /// The handler returns a value.
        case doneWithResult(Int)
        /// The block of the handler inserts a stamp and returns a value.
        case doneInBlock(Int)
        case thrown, failing, retrying, snoozing, skipping
    }

    /// A change of an operator.
    enum Setting: Sendable { case isPaused(Bool), maxConcurrent(Int?), rateLimit(RateLimit?), reset }

    case enqueue([Draft])
    case unique(Draft, key: String, seconds: Int, DuplicatePolicy)
    /// A call with the key `k`.
    case debounce(Draft, delay: Int, maxWait: Int)
    case change(BulkStep, isBulk: Bool)
    case end(String, End)
    case runSchedule(String)
    case pauseSchedule(Bool)
    case set(Setting)
    case pass(Int)
    /// Everything is closed, and opened again after some time.
    case reopen(after: Int)
}
