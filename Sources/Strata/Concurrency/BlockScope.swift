import Synchronization

/// One run of a block: the token that lets the same task join, and the stack that is seen inside.
///
/// Scopes form a chain that travels with the task, child tasks included. The chain may hold scopes of several stack
/// objects; each stack looks for its own. A scope whose block has ended stays in the chains of escaped tasks, where it
/// joins nobody and its stack can no longer be used.
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

    /// The next block outwards.
    let outer: BlockScope?

    /// The task that runs the block. See `identifierOfCurrentTask`.
    let task: Int

    /// Whether the context ends with the block (a background block).
    let dropsContext: Bool

    /// When the block was asked for; nil where nobody measures how long it waits.
    private let asked: ContinuousClock.Instant?

    private let state: Mutex<State>

    init(_ handle: ContextHandle, list: [ContextHandle], outer: BlockScope?, dropsContext: Bool) {
        self.handle = handle
        self.dropsContext = dropsContext
        self.outer = outer
        self.task = Self.identifierOfCurrentTask
        self.state = Mutex(State(list: list))
        asked = handle.core.engine.telemetry.isMeasuring ? .now : nil
    }

    /// It is the block's turn.
    func noteTurn() {
        guard let asked else { return }
        handle.core.engine.telemetry.metrics?.contextWait.record(duration: asked.duration(to: .now))
    }

    /// A number that tells living tasks apart.
    ///
    /// It is compared with that of a scope whose block is running, so both tasks are alive, and two living tasks have
    /// different addresses; the hash of an address is 64 bits of a keyed hash.
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

    /// Whether the block has a place among the readers.
    var hasPlace: Bool {
        get { state.withLock { $0.hasPlace } }
        set { state.withLock { $0.hasPlace = newValue } }
    }

    /// The block has thrown an error.
    func noteFailure() {
        state.withLock { $0.hasFailed = true }
    }

    /// The stack inside the block.
    ///
    /// - Throws: `blockEnded` when the block is over.
    func withList<R: Sendable>(_ body: (inout [ContextHandle]) throws -> R) throws -> R {
        try state.withLock { state in
            if state.isEnded { throw Self.endedError }
            return try body(&state.list)
        }
    }

    /// Notes a save for the end of the block; false when the block is over.
    func saveAtEnd(_ handle: ContextHandle) -> Bool {
        state.withLock { state in
            if state.isEnded { return false }
            state.later.append(handle)
            return true
        }
    }

    /// Ends the block and gives back the saves that were to follow it, in order.
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
            .blockEnded,
            "The block that this task was started in has ended, and its stack with it. "
                + "Start the task with `Task.detached`, or after the block; use `afterCommit` for work that follows a commit. "
                + "To use one context from the task, take its handle along and use `perform`."
        )
    }
}
