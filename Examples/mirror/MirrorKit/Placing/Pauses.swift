import Strata
import StrataCloud
import Synchronization

/// When what has not come to its place is tried again: behind a pause that grows, since it is downloaded anew for that.
final class Pauses: Sendable {
    private struct Pause {
        var length: Duration
        var end: ContinuousClock.Instant
        /// Why it did not come.
        var reason: String
    }

    private let pauses = Mutex<[ObjectID<CloudNode>: Pause]>([:])
    private let now: @Sendable () -> ContinuousClock.Instant

    /// The first pause; each one is twice as long as the one before, but for the longest.
    static let first = Duration.seconds(1)
    static let longest = Duration.seconds(300)

    init(now: @escaping @Sendable () -> ContinuousClock.Instant) { self.now = now }

    /// Why a node is not tried now; nil if it may be tried.
    func reason(for node: ObjectID<CloudNode>) -> String? {
        pauses.withLock { pauses in pauses[node].flatMap { $0.end <= now() ? nil : $0.reason } }
    }

    /// Whether a node may be tried.
    func isOver(for node: ObjectID<CloudNode>) -> Bool { reason(for: node) == nil }

    /// Notes that a node was tried in vain.
    func begin(for node: ObjectID<CloudNode>, _ reason: String = "") {
        pauses.withLock { pauses in
            let length = pauses[node].map { min($0.length * 2, Self.longest) } ?? Self.first
            pauses[node] = Pause(length: length, end: now() + length, reason: reason)
        }
    }

    /// Notes that a node is in its place.
    func forget(_ node: ObjectID<CloudNode>) { pauses.withLock { _ = $0.removeValue(forKey: node) } }
}
