import Synchronization

/// The callbacks that run after commits, kept until the changes that they belong to are committed or dropped.
///
/// Isolation: any.
final class CommitCallbacks: Sendable {
    struct Callback: Sendable {
        /// Ids ascend in the order of registration, across all contexts.
        let id: Int
        /// The context in which the callback was registered.
        let origin: Int
        /// The context whose layer has the changes that the callback belongs to.
        var place: Int
        /// The contexts that have held these changes.
        var contexts: Set<Int>
        /// The number of commits that are about to write these changes. Until their outcome is known, the callback cannot
        /// be dropped.
        var holds = 0
        /// Called when the changes are committed, before anything else happens.
        let committed: @Sendable () -> Void
        let body: @Sendable () async -> Void
    }

    private struct State {
        var lastID = 0
        var callbacks: [Callback] = []
    }

    private let state = Mutex(State())

    /// The id of the callback that was registered last.
    var lastID: Int { state.withLock { $0.lastID } }

    func add(
        in context: Int,
        committed: @escaping @Sendable () -> Void,
        _ body: @escaping @Sendable () async -> Void
    ) {
        state.withLock { state in
            state.lastID += 1
            let callback = Callback(
                id: state.lastID,
                origin: context,
                place: context,
                contexts: [context],
                committed: committed,
                body: body
            )
            state.callbacks.append(callback)
        }
    }

    /// Moves callbacks to the parent of a context, as their changes have moved there.
    func moveUp(from context: Int, to parent: Int) {
        state.withLock { state in
            for index in state.callbacks.indices where state.callbacks[index].place == context {
                state.callbacks[index].place = parent
                state.callbacks[index].contexts.insert(parent)
            }
        }
    }

    /// Holds the callbacks of the changes that are in the layer of a context, for a commit. Called together with the
    /// freezing of these changes.
    ///
    /// - Returns: the ids of the callbacks.
    func hold(at place: Int) -> Set<Int> { hold { $0.place == place } }

    /// Holds callbacks once more that are held already.
    fileprivate func holdAgain(_ ids: Set<Int>) {
        if !ids.isEmpty { _ = hold { ids.contains($0.id) } }
    }

    /// Holds the callbacks of the changes that a context has saved to its parents, for a commit of this context. Called
    /// together with the choice of these changes.
    ///
    /// - Parameter held: the callbacks that this commit holds already.
    fileprivate func holdSaved(by context: Int, except held: Set<Int>) -> Set<Int> {
        // Changes move upward only, so those that the context has held are in its layer or above.
        hold { $0.place != context && $0.contexts.contains(context) && !held.contains($0.id) }
    }

    private func hold(where isWanted: (Callback) -> Bool) -> Set<Int> {
        state.withLock { state in
            var ids: Set<Int> = []
            for index in state.callbacks.indices where isWanted(state.callbacks[index]) {
                state.callbacks[index].holds += 1
                ids.insert(state.callbacks[index].id)
            }
            return ids
        }
    }

    /// Ends a hold of a commit that does not take place, or whose callbacks have run.
    func release(_ ids: Set<Int>) {
        if ids.isEmpty { return }
        state.withLock { state in
            for index in state.callbacks.indices where ids.contains(state.callbacks[index].id) {
                state.callbacks[index].holds -= 1
            }
        }
    }

    /// Removes and returns callbacks, in the order of their registration.
    fileprivate func remove(_ ids: Set<Int>) -> [Callback] {
        if ids.isEmpty { return [] }
        return state.withLock { state in
            let removed = state.callbacks.filter { ids.contains($0.id) }
            state.callbacks.removeAll { ids.contains($0.id) }
            return removed
        }
    }

    /// Removes callbacks, except those that a commit holds.
    ///
    /// - Returns: the removed callbacks. The caller releases them outside of all locks, because their bodies may hold the
    ///   last reference to a context or a registration.
    func drop(where isDropped: (Callback) -> Bool) -> [Callback] {
        state.withLock { state in
            if state.callbacks.isEmpty { return [] }
            let isRemoved = { (callback: Callback) in callback.holds == 0 && isDropped(callback) }
            let removed = state.callbacks.filter(isRemoved)
            if !removed.isEmpty { state.callbacks.removeAll(where: isRemoved) }
            return removed
        }
    }
}

/// The callbacks of the changes that one commit takes.
///
/// Isolation: any.
final class TakenCallbacks: Sendable {
    private let callbacks: CommitCallbacks
    private let ids: Mutex<Set<Int>>

    /// - Parameters:
    ///   - own: the callbacks that are held since the changes of the committer were frozen.
    ///   - others: those that the other contexts of a chain hold. They are held once more.
    init(_ callbacks: CommitCallbacks, own: Set<Int>, others: Set<Int>) {
        self.callbacks = callbacks
        callbacks.holdAgain(others.subtracting(own))
        ids = Mutex(own.union(others))
    }

    /// See ``CommitCallbacks/holdSaved(by:except:)``.
    func holdSaved(by context: Int) {
        ids.withLock { $0.formUnion(callbacks.holdSaved(by: context, except: $0)) }
    }

    /// Starts the callbacks after the commit, each in a separate task, outside the block that has committed.
    func run() {
        for callback in callbacks.remove(ids.withLock { $0 }) {
            callback.committed()
            Task.detached { await callback.body() }
        }
    }

    /// Ends the hold after a failed commit. The callbacks belong to the changes, wherever these are now.
    func release() { callbacks.release(ids.withLock { $0 }) }
}
