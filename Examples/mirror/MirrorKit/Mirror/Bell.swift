import Synchronization

/// Wakes the mirror when there is something to do before the next look. Several rings are one.
final class Bell: Sendable {
    private let isForPlacement = Atomic(true)
    private let continuation: AsyncStream<Void>.Continuation
    let rings: AsyncStream<Void>

    init() { (rings, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

    func ring() { continuation.yield() }

    /// The tree has changed, by a commit that is done, and the folder is to follow.
    func ringForPlacement() {
        isForPlacement.store(true, ordering: .releasing)
        ring()
    }

    /// Whether the folder is to follow the tree, since this was asked last.
    func takePlacement() -> Bool { isForPlacement.exchange(false, ordering: .acquiringAndReleasing) }
}
