import Logging

/// The ordered list of contexts that a program works in; the last one is current.
///
/// The stack of a block travels with its task: inside `on`, `background` and `perform` it is that context alone, and
/// `push` with a block appends to the stack around it. Outside of blocks there is the base, which set-up code fills with
/// `push` and `pop`. Several stacks may be open side by side; each has its own current context in a task.
///
/// A stack that is let go without ``close()`` finishes what runs, drops its contexts and closes by itself.
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
        // Outside of the blocks of whoever let the stack go, since those may still run.
        Task.detached { try? await core.close() }
    }

    /// The context that the running block works in or, outside of any, the last one of the base; nil when there is none.
    ///
    /// - Throws: `blockEnded` in a task that escaped from a block that is over; `closed`.
    public var current: ContextHandle? {
        get throws { try core.withList { $0.last } }
    }

    /// The stack of the running block or, outside of any, the base; the current context comes last.
    ///
    /// - Throws: `blockEnded` in a task that escaped from a block that is over; `closed`.
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

    /// The working face of the main context, for synchronous code of the main actor.
    ///
    /// - Isolation: the main actor. An asynchronous block on main may be suspended meanwhile.
    /// - Throws: `noContext` when the stack has no main context; `closed`.
    @MainActor public var main: ObjectContext {
        get throws {
            let handle = try core.mainHandle()
            // The owner of a main context runs on the executor of the main actor, on which the caller is.
            return try handle.owner.assumeIsolated { SendingBox(try $0.object(for: handle)) }.open()
        }
    }

    /// What failed where nobody could be told at once: saves of ``saveLater(_:)``, and properties and relationships that could
    /// not be read or changed, since those do not throw.
    ///
    /// Each call gives a stream of its own, which gets every failure from then on; the first one gets those from before
    /// too. A stream that is not read keeps the newest 256. Streams end when the stack has closed.
    public var failures: AsyncStream<SaveFailure> {
        core.failures.subscribe()
    }

    /// Drops every context but root and main, with unsaved changes, and frees the names.
    ///
    /// The base is root and main again. Blocks that run or wait on a dropped context end first; later uses of its handle
    /// throw `contextEnded`. How many changes were lost is logged.
    ///
    /// - Throws: `insideBlock` when called from a block of this stack; `closed`.
    public func reset() async throws {
        try await core.reset()
    }

    /// Lets running and queued blocks, saves and `saveLater` end, then drops all contexts; from then on every use throws.
    ///
    /// Blocks that run may open further ones meanwhile. Calling it again waits for the same end.
    ///
    /// - Throws: `insideBlock` when called from a block of this stack.
    public func close() async throws {
        try await core.close()
    }
}
