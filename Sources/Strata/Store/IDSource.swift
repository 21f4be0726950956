import Dispatch
import Synchronization

/// Hands out ids from ranges that the store reserves durably (H28).
///
/// Isolation: any. Taking an id is a lock and an addition; ranges are fetched in the background, the first one at once
/// and the next when half of one is gone, and on the spot only where that did not come in time.
final class IDSource: Sendable {
    private struct State {
        var next: Int64 = 1
        var end: Int64 = 1
        var following: Range<Int64>?
        var isFetching = false
        var reserve: (@Sendable (Int64) throws -> Int64)?
    }

    static let rangeSize: Int64 = 65_536
    /// Whether a range may begin with this number: ids have 48 bits beside the fingerprint.
    static func isRange(from first: Int64) -> Bool { first > 0 && first <= 1 << 48 - rangeSize }
    /// Steps of migrations take ids below this one. The rest is left to the objects of the store.
    static let endForSteps: Int64 = (1 << 48) - (1 << 32)
    let fingerprint: UInt16
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "strata.ids")

    init(fingerprint: UInt16) { self.fingerprint = fingerprint }

    /// Lets ids be taken, and begins to fetch the first range.
    func start(_ reserve: @escaping @Sendable (Int64) throws -> Int64) {
        state.withLock { state in
            state.reserve = reserve
            state.isFetching = true
        }
        // What goes wrong here goes wrong again where the first id is taken, and is thrown there.
        queue.async { [self] in try? fetch() }
    }

    /// Waits for a range that is being fetched, and fetches no more.
    func stop() {
        state.withLock { $0.reserve = nil }
        queue.sync {}
    }

    /// - Throws: ``StrataError`` where a new range cannot be reserved.
    func take() throws -> Int64 {
        while true {
            let taken: Int64? = state.withLock { state in
                if state.next == state.end, let following = state.following {
                    (state.next, state.end) = (following.lowerBound, following.upperBound)
                    state.following = nil
                }
                guard state.next < state.end else { return nil }
                defer { state.next += 1 }
                if state.end - state.next < Self.rangeSize / 2, state.following == nil, !state.isFetching {
                    state.isFetching = true
                    queue.async { try? self.fetch() }
                }
                return state.next
            }
            if let taken { return taken }
            try queue.sync { try fetch() }
        }
    }

    /// Runs on the queue.
    private func fetch() throws {
        let reserve: (@Sendable (Int64) throws -> Int64)? = try state.withLock { state in
            if state.following != nil { return nil }
            guard let reserve = state.reserve else { throw Store.closedError }
            return reserve
        }
        defer { state.withLock { $0.isFetching = false } }
        guard let reserve else { return }
        let first = try reserve(Self.rangeSize)
        state.withLock { $0.following = first..<(first + Self.rangeSize) }
    }
}
