import Strata
import StrataCloud
import Synchronization

/// Delays further attempts to place a file that could not be placed. The pause grows with each attempt, because each
/// attempt downloads the file again.
final class Pauses: Sendable {
    private struct Pause {
        var length: Duration
        var end: ContinuousClock.Instant
        /// The reason why the last attempt failed.
        var reason: String
    }

    private let pauses = Mutex<[ObjectID<CloudNode>: Pause]>([:])
    private let now: @Sendable () -> ContinuousClock.Instant

    /// The first pause. Each further pause is twice as long as the previous one, up to `longest`.
    static let first = Duration.seconds(1)
    static let longest = Duration.seconds(300)

    init(now: @escaping @Sendable () -> ContinuousClock.Instant) { self.now = now }

    /// The reason why a node is not tried now. Nil if it may be tried.
    func reason(for node: ObjectID<CloudNode>) -> String? {
        pauses.withLock { pauses in pauses[node].flatMap { $0.end <= now() ? nil : $0.reason } }
    }

    /// Records a failed attempt, and starts the next pause.
    func begin(for node: ObjectID<CloudNode>, _ reason: String) {
        pauses.withLock { pauses in
            let length = pauses[node].map { min($0.length * 2, Self.longest) } ?? Self.first
            pauses[node] = Pause(length: length, end: now() + length, reason: reason)
        }
    }

    /// Records that a node has been placed.
    func forget(_ node: ObjectID<CloudNode>) { pauses.withLock { _ = $0.removeValue(forKey: node) } }
}
