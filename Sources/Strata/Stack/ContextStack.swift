import Logging

/// The ordered list of contexts that a program works in; the last context is the current one.
///
/// The stack of a block travels with its task. Inside `on`, `background` and `perform`, the stack contains that context
/// only. `push` with a block appends to the stack around the block. Outside of blocks, the base stack applies, which
/// set-up code fills with `push` and `pop`. Several stacks may be open side by side. Each stack has a separate current
/// context in a task.
///
/// A stack that is released without ``close()`` finishes running work, drops its contexts and closes by itself.
///
/// - Isolation: callable from anywhere; only ``main`` belongs to the main actor.
public final class ContextStack: Sendable {
    let core: StackCore

    init(
        setUp: StackSetUp,
        engine: Store,
        mergePolicy: MergePolicy = .error,
        author: String? = nil,
        log: @escaping @Sendable (Logger.Level, String) -> Void = { _, _ in }
    ) {
        core = StackCore(engine: engine, mergePolicy: mergePolicy, author: author, log: log)
        switch setUp {
        case .empty:
            break
        case .rootOnly:
            core.setUp([.root])
        case .standard:
            core.setUp([.root, .main])
        }
    }

    deinit {
        let core = core
        // Detached, because the blocks of the code that released the stack may still run.
        Task.detached { try? await core.close() }
    }

    /// The context of the running block or, outside of blocks, the last context of the base stack; nil if there is
    /// none.
    ///
    /// - Throws: `blockFinished` in a task that has outlived its block; `closed`.
    public var current: ContextHandle? {
        get throws { try core.withList { $0.last } }
    }

    /// The stack of the running block or, outside of blocks, the base stack; the current context comes last.
    ///
    /// - Throws: `blockFinished` in a task that has outlived its block; `closed`.
    public var all: [ContextHandle] {
        get throws { try core.withList { $0 } }
    }

    /// The context with this name, on the stack or not.
    ///
    /// - Throws: `unknownName`, `closed`.
    /// - Complexity: O(1).
    public subscript(name: ContextName) -> ContextHandle {
        get throws { try core.handle(named: name) }
    }

    /// The main context itself, for synchronous code of the main actor.
    ///
    /// - Isolation: the main actor. An asynchronous block on the main context may be suspended at the same time.
    /// - Throws: `contextNotFound` if the stack has no main context; `closed`.
    @MainActor public var main: SavingContext {
        get throws {
            let handle = try core.mainHandle()
            // The owner of a main context runs on the executor of the main actor, and the caller runs there too.
            return try handle.owner.assumeIsolated { UnsafeTransfer(try $0.object(for: handle)) }.open()
        }
    }

    /// Failures that no caller could receive as an error.
    ///
    /// These are failed saves of ``saveLater(_:)``, and failed reads or changes of properties and relationships, which
    /// do not throw.
    ///
    /// Each call returns a separate stream, which receives every failure from then on. The first stream also receives
    /// the earlier failures. A stream that is not read keeps the newest 256 failures. Streams end when the stack has
    /// closed. A stream that is requested later ends after the failures that no earlier stream has received.
    public var failures: AsyncStream<SaveFailure> {
        core.failures.subscribe()
    }

    /// Drops every context except root and main, including unsaved changes, and frees the names.
    ///
    /// Afterwards the base stack is root and main again. Blocks that run or wait on a dropped context end first. Later
    /// uses of its handle throw `contextInvalidated`. The number of lost changes is logged.
    ///
    /// - Throws: `insideBlock` when called from a block of this stack; `closed`.
    public func reset() async throws {
        try await core.reset()
    }

    /// Waits for running and queued blocks, saves and `saveLater`, and then drops all contexts. Every later use throws
    /// `closed`.
    ///
    /// While the stack closes, running blocks may open further blocks. A second call waits until the first one has
    /// finished.
    ///
    /// A loop over live results or changes that has begun before ends without an error. A loop that begins later throws
    /// `closed`. Loops over rows and lines (``rows(_:)``, ``jsonLines(of:)``) throw `closed` in both cases, because an
    /// early end would look like the last element. Streams that cannot throw, such as ``failures``, return the elements
    /// that they have kept, and end.
    ///
    /// - Throws: `insideBlock` when called from a block of this stack.
    public func close() async throws {
        try await core.close()
    }
}
