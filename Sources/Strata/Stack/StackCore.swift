import Logging
import Synchronization

/// The state of a stack, behind the thin `ContextStack`.
///
/// Handles keep it alive. It keeps the named contexts and those on the base stack, until they are dropped.
final class StackCore: Sendable {
    enum Phase {
        case open
        /// Blocks that run may go on and open further ones; nobody else gets in.
        case draining
        case closed
    }

    struct State {
        var phase = Phase.open
        /// Blocks, saves and commits that run or wait.
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
    /// Whether the main context has been used; spares the others the look-up.
    let isMainInUse = Atomic(false)
    let failures = FailureHub()
    let writer = CommitWriter()
    /// What works on this stack until it is closed, by name.
    let engines = Mutex(Engines())

    /// What works on the stack by itself.
    struct Engines {
        var all: [UTF8Text: any StackEngine] = [:]
        /// Whether no more may come.
        var isClosing = false
    }
    let engine: Store
    /// What contexts begin with.
    let mergePolicy: MergePolicy
    /// Who the history names for the commits of contexts.
    let author: String?
    let log: @Sendable (Logger.Level, String) -> Void

    init(
        engine: Store,
        mergePolicy: MergePolicy = .error,
        author: String? = nil,
        log: @escaping @Sendable (Logger.Level, String) -> Void
    ) {
        self.engine = engine
        self.mergePolicy = mergePolicy
        self.author = author
        self.log = log
    }

    /// Counts a block in and makes its scope, after publishing the context of the caller.
    ///
    /// - Throws: `closed`.
    func enter(_ handle: ContextHandle, stack: [ContextHandle], dropping: Bool = false) throws -> BlockScope {
        publishCaller()
        try admit()
        return BlockScope(
            handle,
            list: stack,
            outer: BlockScope.outer(for: self),
            dropsContext: dropping
        )
    }

    /// Counts a use in.
    ///
    /// - Throws: `closed`.
    func admit() throws {
        let isAdmitted = state.withLock { state in
            switch state.phase {
            case .open: break
            case .draining: guard BlockScope.isInside(self) else { return false }
            case .closed: return false
            }
            state.active += 1
            return true
        }
        if !isAdmitted { throw Self.closedError }
    }

    /// Counts a use in that follows from one that is counted.
    func countIn() {
        state.withLock { $0.active += 1 }
    }

    /// Counts a use out.
    func leave() {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.active -= 1
            guard state.active == 0, !state.whenIdle.isEmpty else { return [] }
            defer { state.whenIdle = [] }
            return state.whenIdle
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Publishes the context on whose executor the caller runs, so that what follows sees its edits.
    func publishCaller() {
        if let scope = BlockScope.current, scope.handle.owner.isCreated, scope.handle.owner.isCurrent {
            scope.handle.owner.assumeIsolated { $0.publish() }
            if scope.handle.kind == .main, scope.handle.core === self { return }
        }
        publishIfOnMainActor()
    }

    /// Called where a block has ended that somebody waited for: the context on whose executor the caller runs shows what
    /// came of it, be it a child's save or a commit.
    func callerGoesOn() {
        if let scope = BlockScope.current, scope.handle.core === self, !scope.isEnded, scope.handle.owner.isCreated,
            scope.handle.owner.isCurrent
        {
            scope.handle.owner.assumeIsolated { $0.lookAgain() }
            return
        }
        guard isMainInUse.load(ordering: .acquiring), MainExecutor.isCurrent,
            let main = state.withLock({ $0.names[.main] }), main.owner.isCreated, main.owner.gate.holder == nil
        else { return }
        main.owner.assumeIsolated { $0.lookAgain() }
    }

    /// Publishes the main context, if there is one in use and the caller runs on the main actor.
    func publishIfOnMainActor() {
        guard isMainInUse.load(ordering: .acquiring), MainExecutor.isCurrent,
            let main = state.withLock({ $0.names[.main] }), main.owner.isCreated
        else { return }
        main.owner.assumeIsolated { $0.publish() }
    }

    static var closedError: StrataError {
        StrataError(.closed, "The stack is closed. Open a new one; nothing that was committed is lost.")
    }
}
