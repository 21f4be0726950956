import Foundation
import Logging
import Strata
import StrataPipeline
import Synchronization

/// Carries out at the remote what is queued for an account.
///
/// Where things lie is looked up when an operation runs, in what the remote is known to have: what comes before it has been written there
/// by then. Whatever was carried out and not written down is recognised when it is carried out once more.
final class Pusher: Sendable {
    let stack: ContextStack
    let facts: AccountFacts
    let remote: any Remote
    let handler: any CloudHandler
    /// How large the parts of large uploads are at least, in bytes.
    let partSize: Int64
    /// What is told of bytes as they pass.
    let transfers: TransferBook
    /// What operations wait for while the remote cannot be reached.
    let reachability: Constraint
    /// How often the credentials have changed.
    let credentials = Atomic(0)
    private let trunks = Mutex<Set<String>>([])

    init(
        _ stack: ContextStack,
        _ facts: AccountFacts,
        _ remote: any Remote,
        _ handler: any CloudHandler,
        _ reachability: Constraint,
        partSize: Int64,
        _ transfers: TransferBook
    ) {
        self.transfers = transfers
        self.partSize = max(1, partSize)
        (self.stack, self.facts, self.remote, self.handler) = (stack, facts, remote, handler)
        self.reachability = reachability
    }

    func carryOut(_ attempt: Attempt<CloudWork>) async throws -> Outcome {
        let epoch = credentials.load(ordering: .acquiring)
        do {
            return switch attempt.payload.kind {
            case .record: try await sendRecord(attempt)
            case .content: try await sendContent(attempt)
            case .move: try await move(attempt)
            case .copy: try await copy(attempt)
            case .delete: try await delete(attempt)
            }
        } catch let error as RemoteError {
            return try outcome(of: error, epoch)
        }
    }

    /// What becomes of an operation that the remote has refused, or was not told of.
    private func outcome(of error: RemoteError, _ epoch: Int) throws -> Outcome {
        switch error.code {
        case .unreachable: return .wait(reachability)
        case .throttled: return .postpone(for: error.retryAfter ?? Self.pause)
        case .unauthorized, .untrusted:
            // They may have changed while it was being asked with the old ones.
            return epoch == credentials.load(ordering: .acquiring)
                ? .wait(CloudAccount.credentials) : .postpone(for: .zero)
        case .invalidKey, .unsupported, .misconfigured: return .fail(error.description)
        case .unavailable: if let pause = error.retryAfter { return .postpone(for: pause) }
        default: break
        }
        // Tried again after a while, and in the end left for a person to look at.
        throw error
    }

    /// How long a server is left alone that does not say how long.
    private static let pause = Duration.seconds(5)

    // MARK: Places

    /// What is known of the node that an operation is about.
    struct Target: Sendable {
        /// Where it lies, or is to lie; nil where the remote does not have what it is to lie in.
        let key: RemoteKey?
        /// What the remote has of it, or may have.
        let remote: RemoteNode.Row?
        /// The node here, unless it was deleted.
        let node: CloudNode.Row?
        let path: TreePath?
        /// Whether something else is known to lie where it is to be made.
        let isTaken: Bool
        /// What is queued now and does the same as the operation, which will do for it.
        let covered: [ObjectID<QueuedOperation>]

        /// Whether the remote is known to have it.
        var isThere: Bool { remote?.isCertain ?? false }
    }

    func target(of work: CloudWork) async throws -> Target {
        let facts = facts
        return try await stack.overStore { context in
            let cloud = CloudContext(context, facts)
            let remote = try cloud.remote(work.node)
            var key = remote?.key
            var isTaken = false
            if remote == nil, let number = work.parent, let name = work.name, let parent = try cloud.remote(number) {
                key = parent.key.appending(name)
                isTaken = try parent.child(RemoteKey.escape(name)) != nil
            }
            let node = try context.find(cloud.nodeID(work.node))
            return Target(
                key: key,
                remote: remote?.snapshot,
                node: node?.snapshot,
                path: node?.path,
                isTaken: isTaken,
                covered: try node.map { try cloud.operations(for: $0, coveredBy: work) } ?? []
            )
        }
    }

    /// The key of what an operation is about, in a trunk that is there.
    func key(of target: Target, _ work: CloudWork) async throws -> RemoteKey {
        guard let key = target.key else {
            throw RemoteError(
                .parentMissing,
                "The remote does not have the folder that node \(work.node) is to lie in."
            )
        }
        try await makeTrunk(of: key)
        return key
    }

    func makeTrunk(of key: RemoteKey) async throws {
        guard let trunk = key.segments.first, !trunks.withLock({ $0.contains(trunk) }) else { return }
        try await remote.createFolder(RemoteKey(escaped: [trunk]))
        trunks.withLock { _ = $0.insert(trunk) }
    }

    // MARK: Writing down

    /// Writes down in a commit of its own that something is about to be sent, so that it is recognised later on.
    func intend(_ work: CloudWork, _ change: @escaping @Sendable (RemoteNode) -> Void = { _ in }) async throws {
        let facts = facts
        try await stack.overStore { context in
            change(try CloudContext(context, facts).remoteForSending(work))
            try context.commit()
        }
    }
}

extension CloudContext {
    func nodeID(_ number: Int64) -> ObjectID<CloudNode> {
        // There is always a trunk.
        facts.trunks[.home]!.sibling(number)
    }

    /// What the remote has of a node, also of one that was deleted here.
    func remote(_ number: Int64) throws -> RemoteNode? {
        try context.find(nodeID(number).counterpart(RemoteNode.self))
    }

    /// The same, made where there is none yet.
    func remoteForSending(_ work: CloudWork) throws -> RemoteNode {
        if let remote = try remote(work.node) { return remote }
        guard let parent = try work.parent.flatMap({ try remote($0) }), let name = work.name else {
            throw RemoteError(
                .parentMissing,
                "The remote does not have the folder that node \(work.node) is to lie in."
            )
        }
        let made = RemoteNode(
            account: account,
            segment: RemoteKey.escape(name),
            isFolder: work.isFolder ?? false,
            isCertain: false
        )
        guard let remote = try context.insert(made, as: nodeID(work.node).counterpart(RemoteNode.self)) else {
            throw CloudError(.noSuchNode, "Node \(work.node) was deleted at the remote.", nodes: [work.node])
        }
        // Behind the insert: what is related to something of a context is inserted by that, under an id of its own.
        (remote.parent, remote.node) = (parent, try context.find(nodeID(work.node)))
        return remote
    }

    fileprivate func operations(
        for node: CloudNode,
        coveredBy work: CloudWork
    ) throws -> [ObjectID<QueuedOperation>] {
        guard work.kind == .content || work.kind == .record else { return [] }
        return try operations(for: node).filter { operation in
            let other = try operation.payload(as: CloudWork.self)
            guard other.kind == work.kind, operation.status != .active else { return false }
            guard work.kind == .content else { return true }
            return (other.isLatestEnough ?? false) && (other.sections ?? []).isSubset(of: work.sections ?? [])
        }.map(\.id)
    }

    func skip(_ operations: [ObjectID<QueuedOperation>]) throws {
        for id in operations { try context.find(id)?.skip() }
    }
}
