import Strata
import StrataPipeline

/// Failed operations are retried after their node was moved or deleted. A name that the remote has rejected may have
/// changed, and the operation that moved or deleted the node waits for the failed one.
///
/// The step looks for such operations when an account is opened, when an operation fails, and when nodes were moved or
/// deleted while failed operations exist. An operation that also fails for another reason gets one more attempt for
/// each place of its node.
extension Reconciler {
    /// The failed operations that may need a retry.
    struct FailureNews {
        /// Whether failed operations may exist.
        var mayBeAny = true
        var due = Due(all: true)
        /// The retried operations, by their numbers, with the places of their nodes at the time.
        var tried: [Int64: Location] = [:]

        /// The operations and nodes to look at.
        struct Due {
            var all = false
            var operations: Set<ObjectID<QueuedOperation>> = []
            var nodes: Set<Int64> = []

            var isEmpty: Bool { !all && operations.isEmpty && nodes.isEmpty }
        }

        enum Location: Equatable {
            case gone
            case there(folder: Int64, name: UTF8Text)
        }

        /// The columns that define a node's place.
        private static let placing: Set = ["parent", "name", "trunk"]

        /// - Returns: whether an operation may need a retry now.
        mutating func record(_ event: PipelineEvent) -> Bool {
            switch event {
            case .failed(let id, _):
                mayBeAny = true
                due.operations.insert(id)
                return true
            case .finished(let id, _):
                tried.removeValue(forKey: id.rawValue)
                return false
            default: return false
            }
        }

        /// - Returns: whether an operation may need a retry now.
        mutating func record(_ news: [ChangeSet]?) -> Bool {
            guard mayBeAny else { return false }
            guard let news else {
                due.all = true
                return true
            }
            var nodes: Set<Int64> = []
            for change in news where change.contains(CloudNode.self) {
                let changes = change.of(CloudNode.self)
                nodes.formUnion(changes.deleted.map(\.rawValue))
                for id in changes.updated where !changes.updatedColumns(of: id).isDisjoint(with: Self.placing) {
                    nodes.insert(id.rawValue)
                }
            }
            due.nodes.formUnion(nodes)
            return !nodes.isEmpty
        }
    }

    /// Retries the due operations whose nodes have another place; at first examines all failed operations.
    func retryFailedOperations() async {
        do { try await retry() } catch {
            stack.log(.warning, "failed operations of moved nodes cannot be retried: \(error)")
        }
    }

    private func retry() async throws {
        let info = info
        // The state is read before the store: later changes make another look due.
        let begun = state.withLock { state -> (due: FailureNews.Due, tried: [Int64: FailureNews.Location])? in
            guard !state.failures.due.isEmpty else { return nil }
            defer { state.failures.due = FailureNews.Due() }
            return (state.failures.due, state.failures.tried)
        }
        guard let (due, tried) = begun else { return }
        do {
            let (retried, isAny) = try await stack.overStore { context in
                let cloud = CloudContext(context, info)
                var retried: [Int64: FailureNews.Location] = [:]
                for operation in try cloud.failed(due) {
                    let work = try operation.payload(as: CloudWork.self)
                    guard let intended = work.place else { continue }
                    let place = try cloud.location(of: work.node)
                    let number = operation.id.rawValue
                    guard place != .there(folder: intended.parent, name: UTF8Text(intended.name)),
                        place != tried[number]
                    else { continue }
                    operation.retry()
                    retried[number] = place
                }
                if !retried.isEmpty { try context.commit() }
                return (retried, try context.exists(cloud.failed))
            }
            state.withLock { state in
                // Operations that have failed since then are due.
                let due = state.failures.due
                if !isAny, retried.isEmpty, due.operations.isEmpty, !due.all { state.failures.mayBeAny = false }
                state.failures.tried.merge(retried) { $1 }
            }
        } catch {
            state.withLock { $0.failures.due.all = true }
            throw error
        }
    }
}

extension CloudContext {
    fileprivate func failed(_ due: Reconciler.FailureNews.Due) throws -> [QueuedOperation] {
        if due.all { return try context.fetch(failed) }
        var found = try context.find(due.operations.sorted()).compactMap(\.self)
        for node in due.nodes.sorted() { found += try context.fetch(queued(for: node)) }
        var seen: Set<ObjectID<QueuedOperation>> = []
        return found.filter { $0.status == .failed && seen.insert($0.id).inserted }
    }

    /// The place of a node in the local tree.
    fileprivate func location(of number: Int64) throws -> Reconciler.FailureNews.Location {
        guard let node = try context.find(nodeID(number)), let folder = node.parent, node.trunk != .detached else {
            return .gone
        }
        return .there(folder: folder.id.rawValue, name: UTF8Text(node.name))
    }
}
