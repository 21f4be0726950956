import Dispatch
import Synchronization

/// Hands out ids from ranges that the store reserves durably, so that an id is never used twice.
///
/// Isolation: any. Taking an id is a lock and an addition. A background queue reserves ranges: the first one when the
/// store is opened, the next one when half of a range is used. The writer reserves a range before a transaction if the
/// queue was not fast enough. If no id is left after all, a transaction that takes ids reserves a range for itself, and
/// other callers wait for the writer. The main actor waits for the first range only. Later it gets `busy`.
final class IDSource: Sendable {
    private struct State {
        var range: Range<Int64> = 1..<1
        /// The ranges to use after this one.
        var following: [Range<Int64>] = []
        var isFetching = false
        var hasFetched = false
        var reserve: Reservation?
        var isInTransaction: @Sendable () -> Bool = { false }

        var isEmpty: Bool { range.isEmpty && following.isEmpty }
        /// Whether the range after the present one is due.
        var isLow: Bool { following.isEmpty && range.count < rangeSize / 2 }
    }

    /// Reserves a number of ids and returns the first one. Waits for the writer if another thread holds it. If the ids
    /// are not needed any more then, reserves nothing, and returns nil.
    typealias Reservation = @Sendable (_ count: Int64, _ areNeeded: () -> Bool) throws -> Int64?

    /// Enough ids for the inserts of a program during a long write. A store can be opened 268 million times.
    static let rangeSize: Int64 = 1 << 20
    /// Whether a range may begin with this number. Ids have 48 bits in addition to the fingerprint.
    static func isRange(from first: Int64) -> Bool { first > 0 && first <= 1 << 48 - rangeSize }
    /// Steps of migrations take ids below this one. The ids from here on are left to the objects of the store.
    static let endForSteps: Int64 = (1 << 48) - (1 << 32)
    let fingerprint: UInt16
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "strata.ids")

    init(fingerprint: UInt16) { self.fingerprint = fingerprint }

    /// Allows ids to be taken, and begins to fetch the first range.
    ///
    /// - Parameters:
    ///   - isInTransaction: whether the running thread is in a transaction of the writer.
    func start(isInTransaction: @escaping @Sendable () -> Bool, _ reserve: @escaping Reservation) {
        state.withLock { state in
            state.reserve = reserve
            state.isInTransaction = isInTransaction
            state.isFetching = true
        }
        fetchLater()
    }

    /// Allows ids to be taken that no store has reserved: the last of all ids, which no store reaches. They are for
    /// objects that are never saved.
    func startWithoutStore() { state.withLock { $0.range = Self.endForSteps..<(1 << 48) } }

    /// Waits for a fetch that is running, and starts no further fetch.
    func stop() {
        state.withLock { $0.reserve = nil }
        queue.sync {}
    }

    /// Takes the next id.
    ///
    /// - Throws: ``StrataError`` if no id is left and no range can be reserved; `busy` on the main actor, which does
    ///   not wait.
    func take() throws -> Int64 {
        while true {
            let taken: Int64? = state.withLock { state in
                if state.range.isEmpty, !state.following.isEmpty { state.range = state.following.removeFirst() }
                guard let id = state.range.first else { return nil }
                state.range = (id + 1)..<state.range.upperBound
                if state.isLow, !state.isFetching {
                    state.isFetching = true
                    fetchLater()
                }
                return id
            }
            if let taken { return taken }
            try fetchNow()
        }
    }

    private func fetchLater() {
        queue.async { [self] in
            defer { state.withLock { $0.isFetching = false } }
            // An error here occurs again when an id is needed and the range is empty. The caller gets the error then.
            try? fetch(if: \.isLow)
        }
    }

    private func fetchNow() throws {
        // The queue may be waiting for the transaction of this thread.
        if state.withLock({ $0.isInTransaction })() { return try fetch(if: \.isEmpty) }
        guard MainExecutor.isCurrent else { return try queue.sync { try fetch(if: \.isEmpty) } }
        let choice = state.withLock { state -> Choice in
            // A range may have arrived since this call found none.
            if !state.isEmpty { return .retry }
            guard state.hasFetched else { return .wait }
            defer { state.isFetching = true }
            return .refuse(startsFetch: !state.isFetching)
        }
        switch choice {
        case .retry: return
        case .wait: try queue.sync { try fetch(if: \.isEmpty) }
        case .refuse(let startsFetch):
            if startsFetch { fetchLater() }
            throw StrataError(
                .busy,
                "\(Self.rangeSize) ids were used up during one write to the store. The main actor does not wait for more "
                    + "ids: save again after the write."
            )
        }
    }

    /// What the main actor does without an id.
    private enum Choice {
        /// Another range is there.
        case retry
        /// Waits for the first range.
        case wait
        case refuse(startsFetch: Bool)
    }

    /// Fetches a range before a transaction that may need it. If the transaction reserved it and failed, the
    /// reservation would be gone, and another process could reserve the same range.
    ///
    /// Isolation: the writer, outside of a transaction.
    ///
    /// - Throws: `busy`. The transaction would wait for the store once more.
    func fetchBeforeTransaction(_ reserve: (Int64) throws -> Int64) throws {
        guard state.withLock({ $0.isLow && $0.reserve != nil }) else { return }
        do {
            add(try reserve(Self.rangeSize))
        } catch {
            // Other errors occur again when an id is needed. A transaction that needs none may succeed.
            if StrataError(grdb: error).code == .busy { throw error }
        }
    }

    /// Fetches a range, unless another caller has fetched it meanwhile.
    private func fetch(if isNeeded: @escaping @Sendable (State) -> Bool) throws {
        guard let reserve = state.withLock({ $0.reserve }) else { throw Store.closedError }
        let areNeeded = { [self] in state.withLock { isNeeded($0) } }
        guard areNeeded(), let first = try reserve(Self.rangeSize, areNeeded) else { return }
        add(first)
    }

    private func add(_ first: Int64) {
        state.withLock { state in
            state.following.append(first..<(first + Self.rangeSize))
            state.hasFetched = true
        }
    }
}
