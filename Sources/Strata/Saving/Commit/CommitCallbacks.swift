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

    /// Removes and returns the callbacks of the changes that a commit takes.
    ///
    /// - Parameters:
    ///   - context: the context that commits. Changes that it has saved to its parents are included.
    ///   - others: further contexts all of whose changes are committed with it.
    func take(for context: Int, with others: some Collection<Int>) -> [Callback] {
        state.withLock { state in
            guard !state.callbacks.isEmpty else { return [] }
            let isTaken = { (callback: Callback) in
                // Changes move upward only, so those that the context has held are in its layer or above.
                callback.contexts.contains(context) || others.contains(callback.place)
            }
            let taken = state.callbacks.filter(isTaken)
            if !taken.isEmpty { state.callbacks.removeAll(where: isTaken) }
            return taken
        }
    }

    /// Restores callbacks whose commit has failed.
    func putBack(_ callbacks: [Callback]) {
        guard !callbacks.isEmpty else { return }
        state.withLock { state in
            state.callbacks = (state.callbacks + callbacks).sorted { $0.id < $1.id }
        }
    }

    func drop(where isDropped: (Callback) -> Bool) {
        state.withLock { state in
            if !state.callbacks.isEmpty { state.callbacks.removeAll(where: isDropped) }
        }
    }
}

extension [CommitCallbacks.Callback] {
    /// Starts the callbacks, each in a separate task, outside the block that has committed.
    func run() {
        for callback in self {
            callback.committed()
            Task.detached { await callback.body() }
        }
    }
}
