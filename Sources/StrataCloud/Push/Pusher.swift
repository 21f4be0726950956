import Foundation
import Logging
import Strata
import StrataPipeline
import Synchronization

/// Carries out an account's queued operations at the remote.
///
/// An operation looks up keys when it runs, from the known state of the remote. Earlier operations have already
/// recorded their results there. If an operation took effect but was not recorded, the next attempt recognises its
/// result.
final class Pusher: Sendable {
    let stack: ContextStack
    let info: AccountInfo
    let remote: any Remote
    let handler: any CloudHandler
    /// How content is encrypted; nil if it is not.
    let encryption: ContentEncryption?
    /// The smallest size of the parts of large uploads, in bytes.
    let partSize: Int64
    let maxConcurrentParts: Int
    /// Receives the progress of transfers.
    let transfers: TransferTracker
    /// Aborts multipart uploads that are not needed any more, and deletes holders after their last message.
    let reconciler: Reconciler
    /// The constraint that operations wait for without a network.
    let reachability: any ConstraintSource
    /// Tracks whether the remote is available.
    let availability: RemoteAvailability
    /// The pauses of operations after connection failures.
    let pauses: ConnectionPauses
    /// The constraint of operations for which the remote has refused the credentials, or a file has refused the keys.
    let credentials = ManualConstraint(CloudAccount.credentials, isSatisfied: true)
    /// The circuit breakers of other accounts' inboxes.
    let inboxes: InboxBreakers
    /// The number of changes of the credentials.
    private let epoch = Mutex(0)
    /// Requests a pull, and makes operations wait for it.
    let awaitPull: @Sendable () -> Void
    /// The operations that have found their folder missing.
    let missingFolders = MissingFolders()
    private let trunks = Mutex<Set<UTF8Text>>([])

    init(
        _ stack: ContextStack,
        _ info: AccountInfo,
        remote: any Remote,
        handler: any CloudHandler,
        options: CloudOptions,
        reachability: any ConstraintSource,
        availability: RemoteAvailability,
        transfers: TransferTracker,
        reconciler: Reconciler,
        awaitPull: @escaping @Sendable () -> Void
    ) {
        self.transfers = transfers
        (partSize, maxConcurrentParts) = (max(1, options.partSize), max(1, options.maxConcurrentParts))
        self.awaitPull = awaitPull
        (self.stack, self.info, self.remote, self.handler) = (stack, info, remote, handler)
        inboxes = InboxBreakers(options.retry, options.clock)
        (encryption, self.reachability, self.availability) = (options.encryption, reachability, availability)
        pauses = ConnectionPauses(options.retry)
        self.reconciler = reconciler
    }

    func run(_ attempt: Attempt<CloudWork>) async throws -> Outcome {
        let epoch = epoch.withLock { $0 }
        do {
            return switch attempt.payload {
            case .createFolder: try await whileThere(attempt) { try await createFolder(attempt) }
            case .content: try await whileThere(attempt) { try await sendContent(attempt) }
            case .move: try await whileThere(attempt) { try await move(attempt) }
            case .copy(_, _, let work): try await whileThere(attempt) { try await copy(attempt, work) }
            case .delete: try await whileThere(attempt) { try await delete(attempt) }
            case .message(_, let message): try await sendMessage(attempt, message)
            }
        } catch let error as RemoteError where error.code == .invalidKey {
            return try await renameAwayFromRefusal(attempt) ?? .fail(error.description)
        } catch let error as RemoteError where error.code == .parentMissing {
            return try await outcome(ofMissingFolder: error, attempt)
        } catch let error as RemoteError {
            return try outcome(of: error, attempt, epoch)
        } catch let error as CloudError {
            return try outcome(of: error, epoch)
        }
    }

    /// Works with the remote, unless it is unavailable. In that case the operation goes back to the queue, which waits
    /// until the remote is available.
    func whileThere(
        _ attempt: Attempt<CloudWork>,
        _ body: () async throws -> Outcome
    ) async throws -> Outcome {
        guard try await availability.enter() else { return .snooze(for: .zero) }
        defer { availability.leave() }
        let progress = WatchedRemote.Progress { [pauses] in pauses.reset(attempt.id.rawValue) }
        return try await WatchedRemote.$progress.withValue(progress) { try await body() }
    }

    /// The outcome of an operation that needs existing encrypted content which cannot be opened.
    private func outcome(of error: CloudError, _ epoch: Int) throws -> Outcome {
        switch error.code {
        case .accountKeyUnknown: waiting(since: epoch)
        case .notEncrypted, .encryptionVersionUnknown, .encryptionKeyRefused, .encryptedForAnotherNode,
            .encryptedContentMalformed, .encryptionInputInvalid:
            .fail(error.description)
        default: throw error
        }
    }

    /// Waits for other credentials or keys. If they have changed during the request with the old ones, the operation
    /// runs again at once.
    private func waiting(since epoch: Int) -> Outcome {
        self.epoch.withLock { now in
            guard now == epoch else { return .snooze(for: .zero) }
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

    /// The outcome of an operation that the remote has rejected, or that did not reach the remote.
    private func outcome(of error: RemoteError, _ attempt: Attempt<CloudWork>, _ epoch: Int) throws -> Outcome {
        if error.isOfRemote {
            if error.code == .unreachable, !reachability.isSatisfied { return .wait(reachability.constraint) }
            // The other operations wait for the remote's availability. This one waits longer after each failure, in
            // case it is the cause of the broken connections.
            return .snooze(
                for: error.retryAfter ?? pauses.next(for: attempt.id.rawValue),
                because: error.description
            )
        }
        switch error.code {
        case .unauthorized, .untrusted: return waiting(since: epoch)
        case .unsupported, .misconfigured: return .fail(error.description)
        default: break
        }
        // The pipeline retries the operation with pauses. In the end a person must look at it.
        throw error
    }

    // MARK: Places

    /// The known state of the node that an operation works on.
    struct Target: Sendable {
        /// The node's current or future key; nil if the remote does not have the parent folder.
        let key: RemoteKey?
        /// The state that the remote has, or may have.
        let remote: RemoteNode.Row?
        /// The local node; nil if it was deleted.
        let node: CloudNode.Row?
        let path: TreePath?
        /// Whether another object is known to be where the node would be created.
        let isTaken: Bool
        /// The sections to upload: those of the operation, and those of the operations that it covers.
        let sections: ContentSections
        /// The queued operations that this operation covers, because it does the same.
        let covered: [ObjectID<QueuedOperation>]

        /// Whether the remote is known to have the node.
        var isThere: Bool { remote?.isCertain ?? false }

        /// Throws if the node still has the operation's parent folder. Called if the remote does not have this folder,
        /// or has it below the node.
        func checkMovedOn(_ work: CloudWork, isBelow: Bool = false) throws {
            guard let node, node.trunk != .detached, node.parent?.rawValue == work.place?.parent else { return }
            let message =
                if isBelow {
                    "At the remote, the target folder of node \(work.node) is below the node. Skip this operation, "
                        + "move that folder, and then move the node."
                } else {
                    "The remote does not have the parent folder of node \(work.node). Upload the folder first, and "
                        + "retry this operation."
                }
            throw CloudError(isBelow ? .cyclicMove : .noSuchNode, message, nodes: [work.node])
        }
    }

    func target(of work: CloudWork) async throws -> Target {
        let info = info
        return try await stack.overStore { context in
            let cloud = CloudContext(context, info)
            let remote = try cloud.remote(work.node)
            var key = try remote?.key
            var isTaken = false
            if remote == nil, let place = work.place, let parent = try cloud.remote(place.parent) {
                key = try parent.key.appending(place.name)
                isTaken = try parent.child(RemoteKey.escape(place.name)) != nil
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

    /// The key of an operation's node, after its trunk was created if necessary. Nil if the folder for the node was
    /// deleted at the remote, and the node has another parent by then, or none.
    func key(of target: Target, _ work: CloudWork) async throws -> RemoteKey? {
        guard let key = target.key else {
            try target.checkMovedOn(work)
            return nil
        }
        try await makeTrunk(of: key)
        return key
    }

    /// Uploads a node and everything in it again, because another machine has deleted it.
    func requeueUpload(_ work: CloudWork) -> Outcome {
        .done { [info] context in
            let cloud = CloudContext(context, info)
            try cloud.forgetConflict(of: work.node)
            try cloud.requeueUpload(allOf: work.node, work.sections ?? [])
        }
    }

    /// Creates a node at its current place, before the queued move runs.
    func createAtCurrentPlace(_ work: CloudWork) -> Outcome {
        .done { [info] context in
            let cloud = CloudContext(context, info)
            guard let node = try context.find(cloud.nodeID(work.node)) else { return }
            try cloud.requeueUpload(node, work.sections ?? (node.isFolder ? [] : .data))
        }
    }

    func forgetTrunks() { trunks.withLock { $0 = [] } }

    func makeTrunk(of key: RemoteKey) async throws {
        guard let trunk = key.segments.first, !trunks.withLock({ $0.contains(UTF8Text(trunk)) }) else { return }
        let (folder, info) = (RemoteKey(escaped: [trunk]), info)
        let isKnown = try await stack.overStore { try CloudContext($0, info).hasKnown(inTrunk: trunk) }
        if isKnown, try await remote.capabilities().hasFolders {
            // If a trunk with known content is missing, it is not created again: the pull reports the loss.
            guard try await remote.head(folder) != nil else {
                throw RemoteError(.parentMissing, "\(folder) no longer exists.", key: folder)
            }
        } else {
            try await remote.createFolder(folder)
        }
        trunks.withLock { _ = $0.insert(UTF8Text(trunk)) }
    }

    // MARK: Recording

    /// Records in a separate commit that an object is about to be sent, so that a later attempt recognises it.
    func recordIntent(
        _ work: CloudWork,
        _ change: @escaping @Sendable (RemoteNode, CloudContext) throws -> Void = { _, _ in }
    )
        async throws
    {
        let info = info
        for attempt in 1... {
            do {
                return try await stack.overStore { context in
                    let cloud = CloudContext(context, info)
                    try change(cloud.remoteForSending(work), cloud)
                    try context.commit()
                }
            } catch let error as StrataError
                where [.conflict, .notUnique, .missingReference].contains(error.code) && attempt < Self.writeLimit
            {
                // A pull has changed the row or its folder since this block read it.
                continue
            }
        }
    }

    /// How often the block runs if other commits change the row.
    private static let writeLimit = 5
}

extension CloudContext {
    func nodeID(_ number: Int64) -> ObjectID<CloudNode> {
        // The `home` trunk always exists.
        info.trunks[.home]!.sibling(number)
    }

    /// The state of a node at the remote, even if the node was deleted here.
    func remote(_ number: Int64) throws -> RemoteNode? {
        try context.find(nodeID(number).counterpart(RemoteNode.self))
    }

    /// Whether the remote is known to have any object in a trunk.
    fileprivate func hasKnown(inTrunk name: String) throws -> Bool {
        guard let id = Trunk(rawValue: name).flatMap({ info.trunks[$0] }), let trunk = try remote(id.rawValue) else {
            return false
        }
        return try trunk.children.where { $0.isCertain }.first != nil
    }

    /// The state of a node at the remote. Creates an uncertain row if none exists.
    func remoteForSending(_ work: CloudWork) throws -> RemoteNode {
        if let remote = try remote(work.node) { return remote }
        guard let place = work.place, let parent = try remote(place.parent) else {
            throw CloudError(
                .noSuchNode,
                "The remote no longer has the parent folder of node \(work.node).",
                nodes: [work.node]
            )
        }
        let made = RemoteNode(
            account: account,
            segment: RemoteKey.escape(place.name),
            isFolder: place.isFolder,
            isCertain: false,
            isListed: false
        )
        guard let remote = try context.insert(made, as: nodeID(work.node).counterpart(RemoteNode.self)) else {
            throw CloudError(.noSuchNode, "Node \(work.node) was deleted at the remote.", nodes: [work.node])
        }
        // The relationships are set after the insert. A row related to an object of the context would be inserted
        // automatically, under a new id.
        (remote.parent, remote.node) = (parent, try context.find(nodeID(work.node)))
        return remote
    }

    fileprivate func operations(
        for node: CloudNode,
        coveredBy work: CloudWork
    ) throws -> [(id: ObjectID<QueuedOperation>, sections: ContentSections)] {
        guard case .content(_, _, let upload) = work else { return [] }
        return try operations(for: node).compactMap { operation in
            guard case .content(_, _, let other) = try operation.payload(as: CloudWork.self), other.coalescesUploads,
                operation.status != .active
            else { return nil }
            // An encrypted file is always uploaded as a whole.
            guard info.isEncrypted || other.sections.isSubset(of: upload.sections) else { return nil }
            return (operation.id, other.sections)
        }
    }

    func skip(_ operations: [ObjectID<QueuedOperation>]) throws {
        for id in operations { try context.find(id)?.skip() }
    }
}
