import Synchronization

/// Wakes a reader of the progress after changes. All changes before its next reading wake the reader only once, because
/// each upload causes about ten of them.
///
/// Isolation: any.
final class ProgressBell: Sendable {
    private let continuation: AsyncStream<Void>.Continuation
    /// Whether a change has woken the reader since the last ``reset()``.
    private let hasRung = Atomic(false)
    private let isLast = Atomic(false)

    /// - Parameter continuation: of the stream that the reader waits for. It must keep an unread element.
    init(_ continuation: AsyncStream<Void>.Continuation) { self.continuation = continuation }

    /// Reports a change. Called after the change is made under a lock that a reading takes too. So the next reading sees
    /// a change that does not wake the reader.
    func ring() {
        if !hasRung.exchange(true, ordering: .acquiringAndReleasing) { continuation.yield() }
    }

    /// Lets the next change wake the reader again. Called before a reading, so that changes during the reading do so.
    func reset() { hasRung.store(false, ordering: .releasing) }

    /// Wakes the reader in any case.
    func wake() { continuation.yield() }

    /// Whether the next reading is the last one.
    var isOver: Bool { isLast.load(ordering: .acquiring) }

    /// Lets the reader read for the last time. Called after the last change.
    func wakeForLast() {
        isLast.store(true, ordering: .releasing)
        continuation.yield()
    }

    /// Ends the reader's stream.
    func finish() { continuation.finish() }
}
