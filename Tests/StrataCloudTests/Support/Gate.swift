import Synchronization

extension Mutex where Value == Int {
    /// Counts down to zero, and returns whether the count was positive.
    borrowing func takeOne() -> Bool {
        withLock { count in
            guard count > 0 else { return false }
            count -= 1
            return true
        }
    }
}

/// A gate at which a request waits until a test opens it.
final class Gate: Sendable {
    /// Whether a cancelled task stops waiting.
    private let isCancellable: Bool
    private let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    private let isOpen = Mutex(false)

    init(isCancellable: Bool = true) { self.isCancellable = isCancellable }

    func open() {
        isOpen.withLock { $0 = true }
        continuation.finish()
    }

    func wait() async {
        if isOpen.withLock({ $0 }) { return }
        guard isCancellable else { return await Task { for await _ in stream {} }.value }
        for await _ in stream {}
    }
}

/// Strict remotes whose uploads wait at a gate.
enum GatedRemote {
    static func strict(begin: AsyncStream<Void>.Continuation, _ gate: Gate) -> StrictRemote {
        StrictRemote { request, _ in
            guard request.verb == "PUT" else { return nil }
            begin.yield()
            return .gate(gate)
        }
    }
}
