import Dispatch
import Logging
import Synchronization

/// The state of a stack; the public `ContextStack` is a thin wrapper around it.
///
/// Handles keep the core alive. The core keeps the named contexts and the contexts on the base stack until they are
/// dropped.
final class StackCore: Sendable {
    enum Phase {
        case open
        /// Running blocks may continue and open further blocks; other uses are refused.
        case draining
        case closed
    }

    struct State {
        var phase = Phase.open
        /// The number of blocks, saves and commits that run or wait.
        var active = 0
        var nextID = 1
        var base: [ContextHandle] = []
        var names: [ContextName: ContextHandle] = [:]
        var owners: [Int: (owner: ContextOwner, title: String)] = [:]
        var whenIdle: [CheckedContinuation<Void, Never>] = []
        var whenClosed: [CheckedContinuation<Void, Never>] = []
        var hasClosed = false
    }

    let state = Mutex(State())
    /// Whether the main context has been used; spares stacks without a used main context the look-up.
    let isMainInUse = Atomic(false)
    let failures = FailureHub()
    let writer = CommitWriter()
    /// The blocks of ``ContextStack/write(ifChanged:_:)`` and ``ContextStack/on(_:committing:_:)``.
    let writes = BlockQueue(label: "strata.write")
    /// Measures the blocks of ``ContextStack/write(ifChanged:_:)``.
    let writePace = BlockPace()
    /// The contexts of blocks that run inside a transaction. Nothing on this queue waits for the writer.
    let transactionBlocks = ContextExecutor(label: "strata.transaction")
    /// Tells engines how the transactions of their blocks have ended.
    let transactionEnds = DispatchQueue(label: "strata.transaction.ends")
    /// The engines that work on this stack until it is closed, by name.
    let engines = Mutex(Engines())

    /// The engines that work on the stack independently of callers.
    struct Engines {
        var all: [UTF8Text: any StackEngine] = [:]
        /// Whether new engines are refused.
        var isClosing = false
    }
    let engine: Store
    /// The initial merge policy of contexts.
    let mergePolicy: MergePolicy
    /// The author that the history records for the commits of contexts.
    let author: String?
    let log: @Sendable (Logger.Level, String) -> Void

    init(
        engine: Store,
        mergePolicy: MergePolicy,
        author: String?,
        log: @escaping @Sendable (Logger.Level, String) -> Void
    ) {
        self.engine = engine
        self.mergePolicy = mergePolicy
        self.author = author
        self.log = log
    }

    /// Counts a block as active and creates its scope, after publishing the context of the caller.
    ///
    /// - Parameter span: the name of the block's span; nil for no span. The caller ends the span.
    /// - Throws: `closed`.
    func enter(
        _ handle: ContextHandle,
        stack: [ContextHandle],
        dropping: Bool = false,
        span: SpanName? = nil
    ) throws -> BlockScope {
        publishCaller()
        try admit()
        return BlockScope(
            handle,
            list: stack,
            outer: BlockScope.outer(for: self),
            dropsContext: dropping,
            span: span
        )
    }

    /// Counts a use as active.
    ///
    /// - Throws: `closed`.
    func admit() throws {
        let isAdmitted = state.withLock { state in
            guard admitsCaller(in: state.phase) else { return false }
            state.active += 1
            return true
        }
        if !isAdmitted { throw Self.closedError }
    }

    /// Checks that an iteration may begin. One that has begun ends when the stack closes, or when its context ends.
    ///
    /// - Parameter context: the context whose view the sequence shows; nil for the committed state.
    /// - Throws: `closed`, `contextInvalidated`.
    func checkIteration(of context: ContextHandle?) throws {
        if !state.withLock({ admitsCaller(in: $0.phase) }) { throw Self.closedError }
        if context?.owner.isRetired == true { throw ObjectContext.endedError }
    }

    private func admitsCaller(in phase: Phase) -> Bool {
        switch phase {
        case .open: true
        case .draining: BlockScope.isInside(self)
        case .closed: false
        }
    }

    /// Counts a use that is part of an already counted use.
    func countIn() {
        state.withLock { $0.active += 1 }
    }

    /// Ends a counted use.
    func leave() {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.active -= 1
            guard state.active == 0, !state.whenIdle.isEmpty else { return [] }
            defer { state.whenIdle = [] }
            return state.whenIdle
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Publishes the context on whose executor the caller runs, so that the next operation sees its edits.
    func publishCaller() {
        if let scope = BlockScope.current, scope.handle.owner.isCreated, scope.handle.owner.isCurrent {
            scope.handle.owner.assumeIsolated { $0.publish() }
            if scope.handle.kind == .main, scope.handle.core === self { return }
        }
        guard isMainInUse.load(ordering: .acquiring), MainExecutor.isCurrent,
            let main = state.withLock({ $0.names[.main] }), main.owner.isCreated
        else { return }
        main.owner.assumeIsolated { $0.publish() }
    }

    /// Called when a block that the caller has awaited has ended. The context on whose executor the caller runs then
    /// shows the result, for example a child's save or a commit.
    func callerGoesOn() {
        if let scope = BlockScope.current, scope.handle.core === self, !scope.isEnded, scope.handle.owner.isCreated,
            scope.handle.owner.isCurrent
        {
            scope.handle.owner.assumeIsolated { $0.lookAgain() }
            return
        }
        guard isMainInUse.load(ordering: .acquiring), MainExecutor.isCurrent,
            let main = state.withLock({ $0.names[.main] }), main.owner.isCreated, main.owner.mutex.holder == nil
        else { return }
        main.owner.assumeIsolated { $0.lookAgain() }
    }

    static var closedError: StrataError {
        StrataError(.closed, "The stack is closed. Open a new one; nothing that was committed is lost.")
    }
}
