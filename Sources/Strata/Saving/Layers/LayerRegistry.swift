import Synchronization

/// The published layers of a stack and the log of their changes and of the store's commits, protected by one mutex.
///
/// Isolation: any. Most work under the lock is in memory. The exceptions are batches, commits of engines and of other
/// processes, and changes of layers such as saves and rollbacks: they read rows from the store to rebase layers. No
/// code of contexts, engines or waiting tasks runs under the lock.
final class LayerRegistry: Sendable {
    struct State: Sendable {
        var layers = LayerSnapshot()
        /// The commits of the transaction that is being written, in order. The layers do not contain them yet.
        var inFlight: [CommitRecord] = []
        /// The number of running commits that hold a segment in place.
        var frozen: [Int: Int] = [:]
        /// The number of running commits that have read a segment of a parent, and may include some of its rows.
        var read: [Int: Int] = [:]

        /// The segments from which nothing is removed.
        var taken: Set<Int> { Set(frozen.keys) }
        /// The segments that are not merged with others.
        var fixed: Set<Int> { read.isEmpty ? taken : taken.union(read.keys) }
        /// The commits and the changes of the layers, for their readers.
        var log: CommitLog
        /// The members that commits have merged while a context still shows their former rows, by context, entity and
        /// former row. They are kept until the context takes its next snapshot.
        var mergedMembers: [Int: [Int: [Int64: MergedMember]]] = [:]
    }

    let state: Mutex<State>

    init(sequence: Int64) {
        state = Mutex(State(log: CommitLog(sequence: sequence)))
    }

    /// The number of the newest commit that the layers know.
    var newestSequence: Int64 { state.withLock { $0.sequence } }

    func add(context: Int, parent: Int?, committedOnly: Bool) {
        state.withLock { $0.layers.add(context: context, parent: parent, committedOnly: committedOnly) }
    }

    func remove(context: Int) {
        _ = update(by: context) { state in
            state.layers.remove(context: context)
            state.mergedMembers[context] = nil
            return state.log.remove(context: context)
        }
    }
}

extension LayerRegistry.State {
    /// The number of the last commit that the layers know. A reader with an older snapshot starts again.
    var sequence: Int64 { log.end.sequence }

    /// The events after the given one that changed the rows below a context's layer.
    func news(for context: Int, after cursor: Int) -> [CommitLog.Event] {
        if log.end.event == cursor { return [] }
        let beneath = layers.readPath(to: context).dropLast()
        return log.events.reversed().prefix { $0.number > cursor }.filter { event in
            switch event.cause {
            case .edits(let changed), .layer(let changed): beneath.contains(changed)
            case .commit: true
            }
        }.reversed()
    }
}
