/// How long a pass waits before it looks for operations that another node has made ready.
///
/// In a store with a home, a commit of one node wakes the engines of all nodes. Each one with a free place would take
/// the home's lock to claim the same new operation, and all but one would find it claimed. An engine that has lost an
/// operation in this way therefore waits for a random time after later commits of other nodes. When it looks, its
/// working copy usually shows the claim of a faster node, and the look needs no lock.
///
/// The wait doubles with each loss, so that it adapts to the time in which the claim of another node arrives. It ends
/// when the engine claims an operation. So a node whose peers are busy or gone waits once, and then looks at once.
/// Commits by its own node, ends of handlers and alarms never wait.
struct ClaimBackoff: Sendable {
    /// The first wait after a loss, and the longest one. Tests set others.
    var range: ClosedRange<Duration> = .milliseconds(4) ... .milliseconds(64)
    /// The upper bound of the next wait; zero if the engine looks at once.
    private(set) var bound = Duration.zero
    /// Whether a pass is scheduled for the end of a wait.
    private var isWaiting = false

    /// Notes the claims of a pass.
    ///
    /// - Parameters:
    ///   - found: how many operations the pass could claim by the state of the working copy.
    ///   - claimed: how many operations it has claimed.
    mutating func note(found: Int, claimed: Int) {
        if claimed > 0 {
            bound = .zero
        } else if found > 0 {
            bound = min(max(bound * 2, range.lowerBound), range.upperBound)
        }
    }

    /// Begins to wait, after a commit of another node.
    ///
    /// - Returns: the time to wait, from a half of ``bound`` to all of it, so that nodes which have lost equally often
    ///   do not look at the same time; zero for a pass at once; nil if the pass at the end of an earlier wait is still
    ///   to come, and serves this commit too.
    mutating func beginWait() -> Duration? {
        if bound == .zero { return .zero }
        if isWaiting { return nil }
        isWaiting = true
        return bound * Double.random(in: 0.5...1)
    }

    /// Notes the end of a wait.
    mutating func endWait() { isWaiting = false }
}
