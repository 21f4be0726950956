import Synchronization
import Tracing

/// One run of a block: the token that lets the same task join, and the stack that the block sees.
///
/// Scopes form a chain that travels with the task and its child tasks. The chain may contain scopes of several stacks;
/// each stack searches for its own scopes. The scope of an ended block stays in the chains of tasks that have outlived
/// the block. Such a scope lets no task join, and its stack can no longer be used.
final class BlockScope: Sendable {
    /// The innermost block of the running task, ended or not.
    @TaskLocal static var current: BlockScope?

    private struct State {
        var list: [ContextHandle]
        var later: [ContextHandle] = []
        var isEnded = false
        var hasFailed = false
        var hasPlace = false
    }

    /// The context in which the block runs.
    let handle: ContextHandle

    /// The block that directly encloses this one.
    let outer: BlockScope?

    /// The task that runs the block. See `identifierOfCurrentTask`.
    let task: Int

    /// Whether the context ends with the block (a background block).
    let dropsContext: Bool

    /// The span of the block; nil without tracing, and for the blocks of engines. The creator of the scope ends it.
    let span: (any Tracing.Span)?

    /// When the block was requested; nil if waiting times are not measured.
    private let asked: ContinuousClock.Instant?

    private let state: Mutex<State>

    /// - Parameter span: the name of the block's span; nil for no span.
    init(
        _ handle: ContextHandle,
        list: [ContextHandle],
        outer: BlockScope?,
        dropsContext: Bool,
        span: SpanName? = nil
    ) {
        self.handle = handle
        self.dropsContext = dropsContext
        self.outer = outer
        self.task = Self.identifierOfCurrentTask
        self.state = Mutex(State(list: list))
        asked = handle.core.engine.telemetry.isMeasuring ? .now : nil
        if let span, let spans = handle.core.engine.telemetry.spans {
            self.span = spans.startBlock(span, in: ContextName.label(handle.name, handle.id))
        } else {
            self.span = nil
        }
    }

    /// Records the waiting time when the block starts.
    func noteTurn() {
        guard let asked else { return }
        handle.core.engine.telemetry.metrics?.contextWait.record(duration: asked.duration(to: .now))
    }

    /// A number that distinguishes living tasks.
    ///
    /// The number is compared with the number of a scope whose block is running. Both tasks are therefore alive, and
    /// two living tasks have different addresses. The hash of an address is a keyed hash of 64 bits.
    static var identifierOfCurrentTask: Int {
        withUnsafeCurrentTask { $0?.hashValue ?? 0 }
    }

    /// Whether the block is over.
    var isEnded: Bool {
        state.withLock { $0.isEnded }
    }

    /// Whether the block has thrown an error.
    var hasFailed: Bool {
        state.withLock { $0.hasFailed }
    }

    /// Whether the block has a place in the reader pool.
    var hasPlace: Bool {
        get { state.withLock { $0.hasPlace } }
        set { state.withLock { $0.hasPlace = newValue } }
    }

    /// Records that the block, or its commit, has failed.
    func noteFailure() {
        state.withLock { $0.hasFailed = true }
    }

    /// Records in the block's span the error that its caller receives. The block may not even have started. In a store
    /// with a home, the block may run again after the span has ended (``FailedReads``).
    func recordInSpan(_ error: any Error) {
        // A block that is about to run again has not failed.
        if let span, !(error is StaleReads), !(error is OutdatedTransaction) { span.record(error) }
    }

    /// Reads or changes the stack inside the block.
    ///
    /// - Throws: `blockFinished` if the block is over.
    func withList<R: Sendable>(_ body: (inout [ContextHandle]) throws -> R) throws -> R {
        try state.withLock { state in
            if state.isEnded { throw Self.endedError }
            return try body(&state.list)
        }
    }

    /// Schedules a save for the end of the block; false if the block is over.
    func saveAtEnd(_ handle: ContextHandle) -> Bool {
        state.withLock { state in
            if state.isEnded { return false }
            state.later.append(handle)
            return true
        }
    }

    /// Ends the block and returns the saves scheduled for its end, in order.
    func end() -> [ContextHandle] {
        let released = state.withLock { state in
            state.isEnded = true
            defer { state.list = [] }
            defer { state.later = [] }
            return (state.later, state.list)
        }
        return released.0
    }

    private static var endedError: StrataError {
        StrataError(
            .blockFinished,
            "The block that this task was started in has ended, and its stack with it. Start the task with "
                + "`Task.detached`, or after the block; use `afterCommit` for work that follows a commit. To use one "
                + "context from the task, pass its handle to the task and use `perform`."
        )
    }
}
