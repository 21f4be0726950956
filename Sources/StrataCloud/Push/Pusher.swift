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
    /// How content is sealed; nil where it is not.
    let sealing: ContentSealing?
    /// How large the parts of large uploads are at least, in bytes.
    let partSize: Int64
    let maxConcurrentParts: Int
    /// What is told of bytes as they pass.
    let transfers: TransferBook
    /// What gives up the parts of uploads that are not needed any more.
    let abandoned: AbandonedUploads
    /// The constraint that operations wait for without a network.
    let reachability: any ConstraintObserver
    /// What knows whether the remote is there.
    let availability: RemoteAvailability
    /// How long operations rest whose connections break.
    let pauses: ConnectionPauses
    /// What operations wait for whose credentials, or keys, the remote or a file has refused.
    let credentials = ManualConstraint(CloudAccount.credentials, isSatisfied: true)
    /// What goes with the last operation of its own.
    let holders: Holders
    /// What has failed operations be tried again.
    let failed: FailedWork
    /// What is known of the inboxes of others.
    let inboxes: Inboxes
    /// How often the credentials have changed.
    private let epoch = Mutex(0)
    /// Has a pull begin soon, and operations wait for it.
    let awaitPull: @Sendable () -> Void
    /// Which operations have found that their folder is missing.
    let missingFolders = MissingFolders()
    private let trunks = Mutex<Set<UTF8Text>>([])

    init(
        _ stack: ContextStack,
        _ facts: AccountFacts,
        _ remote: any Remote,
        _ handler: any CloudHandler,
        _ options: CloudOptions,
        _ reachability: any ConstraintObserver,
        _ availability: RemoteAvailability,
        _ transfers: TransferBook,
        awaitPull: @escaping @Sendable () -> Void
    ) {
        self.transfers = transfers
        (partSize, maxConcurrentParts) = (max(1, options.partSize), max(1, options.maxConcurrentParts))
        self.awaitPull = awaitPull
        (self.stack, self.facts, self.remote, self.handler) = (stack, facts, remote, handler)
        (holders, failed) = (Holders(stack, facts), FailedWork(stack, facts))
        inboxes = Inboxes(options.retry, options.clock)
        (sealing, self.reachability, self.availability) = (options.sealing, reachability, availability)
        pauses = ConnectionPauses(options.retry)
        abandoned = AbandonedUploads(stack, facts, remote)
    }

    func carryOut(_ attempt: Attempt<CloudWork>) async throws -> Outcome {
        let epoch = epoch.withLock { $0 }
        do {
            return switch attempt.payload.kind {
            case .record: try await whileThere(attempt) { try await sendRecord(attempt) }
            case .content: try await whileThere(attempt) { try await sendContent(attempt) }
            case .move: try await whileThere(attempt) { try await move(attempt) }
            case .copy: try await whileThere(attempt) { try await copy(attempt) }
            case .delete: try await whileThere(attempt) { try await delete(attempt) }
            case .message: try await sendMessage(attempt)
            }
        } catch let error as RemoteError where error.code == .invalidKey {
            return try await evadeRefusal(attempt) ?? .fail(error.description)
        } catch let error as RemoteError where error.code == .parentMissing {
            return try await outcome(ofMissingFolder: error, attempt)
        } catch let error as RemoteError {
            return try outcome(of: error, attempt, epoch)
        } catch let error as CloudError {
            return try outcome(of: error, epoch)
        }
    }

    /// Does something with the remote, unless that is away: then the operation goes back to the others, which the gate holds back.
    func whileThere(
        _ attempt: Attempt<CloudWork>,
        _ body: () async throws -> Outcome
    ) async throws -> Outcome {
        guard try await availability.enter() else { return .postpone(for: .zero) }
        defer { availability.leave() }
        let progress: @Sendable () -> Void = { [pauses] in pauses.reset(attempt.id.number) }
        return try await WatchedRemote.$progress.withValue(progress) { try await body() }
    }

    /// What becomes of an operation that what was sealed before cannot be opened for.
    private func outcome(of error: CloudError, _ epoch: Int) throws -> Outcome {
        switch error.code {
        case .accountKeyUnknown: waiting(since: epoch)
        case .notSealed, .sealedVersionUnknown, .sealKeyRefused, .sealedForAnotherNode, .sealedMalformed, .sealInvalid:
            .fail(error.description)
        default: throw error
        }
    }

    /// Waits for other credentials, or keys. They may have changed while it was being asked with the old ones.
    private func waiting(since epoch: Int) -> Outcome {
        self.epoch.withLock { now in
            guard now == epoch else { return .postpone(for: .zero) }
            credentials.set(false)
            return .wait(CloudAccount.credentials)
        }
    }

    func credentialsChanged() {
        epoch.withLock { epoch in
            epoch += 1
            credentials.set(true)
        }
    }

    /// What becomes of an operation that the remote has refused, or was not told of.
    private func outcome(of error: RemoteError, _ attempt: Attempt<CloudWork>, _ epoch: Int) throws -> Outcome {
        if error.isOfRemote {
            if error.code == .unreachable, !reachability.isSatisfied { return .wait(reachability.constraint) }
            // The others wait at the gate. This one rests for longer each time, in case that it is what breaks the connection.
            return .postpone(
                for: error.retryAfter ?? pauses.next(for: attempt.id.number),
                because: error.description
            )
        }
        switch error.code {
        case .unauthorized, .untrusted: return waiting(since: epoch)
        case .unsupported, .misconfigured: return .fail(error.description)
        default: break
        }
        // Tried again after a while, and in the end left for a person to look at.
        throw error
    }

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
        /// Which sections are sent: those of the operation, and of what it will do for.
        let sections: ContentSections
        /// What is queued now and does the same as the operation, which will do for it.
        let covered: [ObjectID<QueuedOperation>]

        /// Whether the remote is known to have it.
        var isThere: Bool { remote?.isCertain ?? false }

        /// Checks of something that the remote has no folder for, or has that below it, that it lies in another one by now.
        func checkMovedOn(_ work: CloudWork, isBelow: Bool = false) throws {
            guard let node, node.trunk != .detached, node.parent?.number == work.parent else { return }
            let message =
                if isBelow {
                    "At the remote, the folder that node \(work.node) is to lie in lies below it. Skip this, move that folder, and then this node."
                } else {
                    "The remote does not have the folder that node \(work.node) is to lie in. Upload that first, and let this be tried again."
                }
            throw CloudError(isBelow ? .nodeBelowItself : .noSuchNode, message, nodes: [work.node])
        }
    }

    func target(of work: CloudWork) async throws -> Target {
        let facts = facts
        return try await stack.overStore { context in
            let cloud = CloudContext(context, facts)
            let remote = try cloud.remote(work.node)
            var key = try remote?.key
            var isTaken = false
            if remote == nil, let number = work.parent, let name = work.name, let parent = try cloud.remote(number) {
                key = try parent.key.appending(name)
                isTaken = try parent.child(RemoteKey.escape(name)) != nil
            }
            let node = try context.find(cloud.nodeID(work.node))
            let covered = try node.map { try cloud.operations(for: $0, coveredBy: work) } ?? []
            return Target(
                key: key,
                remote: remote?.snapshot,
                node: node?.snapshot,
                path: node?.path,
                isTaken: isTaken,
                sections: covered.reduce(work.sections ?? .data) { $0.union($1.sections) },
                covered: covered.map(\.id)
            )
        }
    }

    /// The key of what an operation is about, in a trunk that is there; nil where somebody has taken away what it was to be made in, and it
    /// lies somewhere else by now, or nowhere.
    func key(of target: Target, _ work: CloudWork) async throws -> RemoteKey? {
        guard let key = target.key else {
            try target.checkMovedOn(work)
            return nil
        }
        try await makeTrunk(of: key)
        return key
    }

    /// Makes a node once more, and what lies in it, since somebody has taken it away.
    func sendAnew(_ work: CloudWork) -> Outcome {
        .done { [facts] context in
            let cloud = CloudContext(context, facts)
            try cloud.forgetConflict(of: work.node)
            try cloud.sendAnew(allOf: work.node, work.sections ?? [])
        }
    }

    /// Makes a node where it lies by now, before it would be moved there.
    func sendWhereItLies(_ work: CloudWork) -> Outcome {
        .done { [facts] context in
            let cloud = CloudContext(context, facts)
            guard let node = try context.find(cloud.nodeID(work.node)) else { return }
            try cloud.sendAnew(node, work.sections ?? (node.isFolder ? [] : .data))
        }
    }

    func forgetTrunks() { trunks.withLock { $0 = [] } }

    func makeTrunk(of key: RemoteKey) async throws {
        guard let trunk = key.segments.first, !trunks.withLock({ $0.contains(UTF8Text(trunk)) }) else { return }
        let (folder, facts) = (RemoteKey(escaped: [trunk]), facts)
        let isKnown = try await stack.overStore { try CloudContext($0, facts).hasKnown(inTrunk: trunk) }
        if isKnown, try await remote.capabilities().hasFolders {
            // Where there was something, and there is nothing, it is not begun anew: the pull says what that means.
            guard try await remote.head(folder) != nil else {
                throw RemoteError(.parentMissing, "\(folder) is not there any more.", key: folder)
            }
        } else {
            try await remote.createFolder(folder)
        }
        trunks.withLock { _ = $0.insert(UTF8Text(trunk)) }
    }

    // MARK: Writing down

    /// Writes down in a commit of its own that something is about to be sent, so that it is recognised later on.
    func intend(
        _ work: CloudWork,
        _ change: @escaping @Sendable (RemoteNode, CloudContext) throws -> Void = { _, _ in }
    )
        async throws
    {
        let facts = facts
        for attempt in 1... {
            do {
                return try await stack.overStore { context in
                    let cloud = CloudContext(context, facts)
                    try change(cloud.remoteForSending(work), cloud)
                    try context.commit()
                }
            } catch let error as StrataError
                where [.conflict, .notUnique, .missingReference].contains(error.code) && attempt < Self.writeLimit
            {
                // A pull has changed the row, or the folder that it lies in, since this has read it.
                continue
            }
        }
    }

    /// How often a row is written down anew that another commit has changed.
    private static let writeLimit = 5
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

    /// Whether the remote is known to have anything in a trunk.
    fileprivate func hasKnown(inTrunk name: String) throws -> Bool {
        guard let id = Trunk(rawValue: name).flatMap({ facts.trunks[$0] }), let trunk = try remote(id.number) else {
            return false
        }
        return try trunk.children.where { $0.isCertain }.first != nil
    }

    /// The same, made where there is none yet.
    func remoteForSending(_ work: CloudWork) throws -> RemoteNode {
        if let remote = try remote(work.node) { return remote }
        guard let parent = try work.parent.flatMap({ try remote($0) }), let name = work.name else {
            throw CloudError(
                .noSuchNode,
                "The remote does not have the folder any more that node \(work.node) is to lie in.",
                nodes: [work.node]
            )
        }
        let made = RemoteNode(
            account: account,
            segment: RemoteKey.escape(name),
            isFolder: work.isFolder ?? false,
            isCertain: false,
            isListed: false
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
    ) throws -> [(id: ObjectID<QueuedOperation>, sections: ContentSections)] {
        guard work.kind == .content || work.kind == .record else { return [] }
        return try operations(for: node).compactMap { operation in
            let other = try operation.payload(as: CloudWork.self)
            // What makes a folder of a file does more than what sends the record of a file.
            guard other.kind == work.kind, other.kind != .record || other.isFolder == work.isFolder,
                operation.status != .active
            else { return nil }
            let sections = other.sections ?? []
            if work.kind == .content {
                guard other.isLatestEnough ?? false else { return nil }
                // What is sealed is sent as a whole in any case.
                guard facts.isSealed || sections.isSubset(of: work.sections ?? []) else { return nil }
            }
            return (operation.id, sections)
        }
    }

    func skip(_ operations: [ObjectID<QueuedOperation>]) throws {
        for id in operations { try context.find(id)?.skip() }
    }
}
