import Strata
import StrataCloud
import Synchronization

/// When what has not come to its place is tried again: behind a pause that grows, since it is downloaded anew for that.
final class Pauses: Sendable {
    private struct Pause {
        var length: Duration
        var end: ContinuousClock.Instant
    }

    private let pauses = Mutex<[ObjectID<CloudNode>: Pause]>([:])
    private let now: @Sendable () -> ContinuousClock.Instant

    /// The first pause; each one is twice as long as the one before, but for the longest.
    static let first = Duration.seconds(1)
    static let longest = Duration.seconds(300)

    init(now: @escaping @Sendable () -> ContinuousClock.Instant) { self.now = now }

    /// Whether a node may be tried.
    func isOver(for node: ObjectID<CloudNode>) -> Bool {
        pauses.withLock { $0[node].map { $0.end <= now() } ?? true }
    }

    /// Notes that a node was tried in vain.
    func begin(for node: ObjectID<CloudNode>) {
        pauses.withLock { pauses in
            let length = pauses[node].map { min($0.length * 2, Self.longest) } ?? Self.first
            pauses[node] = Pause(length: length, end: now() + length)
        }
    }

    /// Notes that a node is in its place.
    func forget(_ node: ObjectID<CloudNode>) { pauses.withLock { _ = $0.removeValue(forKey: node) } }
}
