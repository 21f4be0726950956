/// Signals that some state has changed, but not which. The listener examines all state, so a late or combined signal
/// loses nothing.
struct Bell: Sendable {
    /// The signals, for one listener. One signal is pending from the start.
    let rings: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (rings, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        ring()
    }

    func ring() { continuation.yield() }
}
