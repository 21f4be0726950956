import Strata
import StrataPipeline
import Synchronization

/// Retries failed operations after their node was moved or deleted. A name that the remote has rejected may have
/// changed, and the operation that moved or deleted the node waits for the failed one.
///
/// It looks for such operations when an account is opened, when an operation fails, and when nodes were moved or
/// deleted while failed operations exist. An operation that also fails for another reason gets one more attempt for
/// each place of its node.
final class FailedOperationReconciler: Sendable {
    private let stack: ContextStack
    private let info: AccountInfo
    private let looks = RepeatedTask()
    private let state = Mutex(State())

    private struct State {
        /// Whether failed operations may exist.
        var mayBeAny = true
        var due = Due(all: true)
        /// The retried operations, by their numbers, with the places of their nodes at the time.
        var tried: [Int64: Location] = [:]
    }

    /// The operations and nodes to look at.
    fileprivate struct Due {
        var all = false
        var operations: Set<ObjectID<QueuedOperation>> = []
        var nodes: Set<Int64> = []
    }

    fileprivate enum Location: Equatable {
        case gone
        case there(folder: Int64, name: UTF8Text)
    }

    /// The columns that define a node's place.
    private static let placing: Set = ["parent", "name", "trunk"]

    init(_ stack: ContextStack, _ info: AccountInfo) { (self.stack, self.info) = (stack, info) }

    func handle(_ event: PipelineEvent) {
        switch event {
        case .failed(let id, _):
            state.withLock { state in
                state.mayBeAny = true
                state.due.operations.insert(id)
            }
            look()
        case .finished(let id, _): state.withLock { _ = $0.tried.removeValue(forKey: id.rawValue) }
        default: break
        }
    }

    /// Handles commits, which may have moved or deleted nodes.
    func handle(_ news: [ChangeSet]?) {
        let isDue = state.withLock { state in
            guard state.mayBeAny else { return false }
            guard let news else {
                state.due.all = true
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
            state.due.nodes.formUnion(nodes)
            return !nodes.isEmpty
        }
        if isDue { look() }
    }

    /// Looks at the due operations; at first at all of them.
    func look() {
        looks.ask {
            do { try await self.retry() } catch {
                self.stack.log(.warning, "failed operations of moved nodes cannot be retried: \(error)")
            }
        }
    }

    /// Waits for the running looks.
    func waitUntilIdle() async { await looks.waitUntilIdle() }

    func stop() async { await looks.stop() }

    private func retry() async throws {
        let info = info
        // The state is read before the store: later changes make another look due.
        let (due, tried) = state.withLock { state in
            defer { state.due = Due() }
            return (state.due, state.tried)
        }
        do {
            let (retried, isAny) = try await stack.overStore { context in
                let cloud = CloudContext(context, info)
                var retried: [Int64: Location] = [:]
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
                if !isAny, retried.isEmpty, state.due.operations.isEmpty, !state.due.all { state.mayBeAny = false }
                state.tried.merge(retried) { $1 }
            }
        } catch {
            state.withLock { $0.due.all = true }
            throw error
        }
    }
}

extension CloudContext {

    fileprivate func failed(_ due: FailedOperationReconciler.Due) throws -> [QueuedOperation] {
        if due.all { return try context.fetch(failed) }
        var found = try context.find(due.operations.sorted()).compactMap(\.self)
        for node in due.nodes.sorted() { found += try context.fetch(queued(for: node)) }
        var seen: Set<ObjectID<QueuedOperation>> = []
        return found.filter { $0.status == .failed && seen.insert($0.id).inserted }
    }

    /// The place of a node in the local tree.
    fileprivate func location(of number: Int64) throws -> FailedOperationReconciler.Location {
        guard let node = try context.find(nodeID(number)), let folder = node.parent, node.trunk != .detached else {
            return .gone
        }
        return .there(folder: folder.id.rawValue, name: UTF8Text(node.name))
    }
}
