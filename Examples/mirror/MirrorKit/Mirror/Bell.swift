import Synchronization

/// Wakes the mirror before its next scheduled pass. Several rings count as one.
final class Bell: Sendable {
    private let isForPlacement = Atomic(true)
    private let continuation: AsyncStream<Void>.Continuation
    let rings: AsyncStream<Void>

    init() { (rings, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

    func ring() { continuation.yield() }

    /// Requests a placement, because a commit has changed the tree.
    func ringForPlacement() {
        isForPlacement.store(true, ordering: .releasing)
        ring()
    }

    /// Whether a placement was requested since the last call.
    func consumePlacementRequest() -> Bool { isForPlacement.exchange(false, ordering: .acquiringAndReleasing) }
}
