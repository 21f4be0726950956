/// Says that something has changed, and not what: who hears it looks at everything. So nothing is missed by hearing it
/// late, or once for several.
struct Bell: Sendable {
    /// For one listener. Begins rung.
    let rings: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (rings, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        ring()
    }

    func ring() { continuation.yield() }
}
