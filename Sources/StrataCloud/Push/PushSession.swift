import Strata
import StrataPipeline

/// One attempt of an operation, with all that the kinds of ``Push`` share.
///
/// The shared work has these files:
///
/// | file | work |
/// |---|---|
/// | `PushTarget.swift` | looks up the node, its key and its known state |
/// | `PushSession+Recognition.swift` | compares objects at the remote with the known state and with own uploads |
/// | `PushSession+Objects.swift` | copies and moves single objects |
/// | `PushSession+Parts.swift` | writes an object, large ones in parts |
/// | `PushSession+Renaming.swift` | gives a node another name at the remote |
/// | `PushSession+MissingFolders.swift` | waits for a missing folder, and then creates it |
///
/// Isolation: any.
struct PushSession: Sendable {
    let pusher: Pusher
    let attempt: Attempt<CloudWork>

    var work: CloudWork { attempt.payload }
    var stack: ContextStack { pusher.stack }
    var info: AccountInfo { pusher.info }
    var remote: any Remote { pusher.remote }

    /// Works with the remote, unless it is unavailable. In that case the operation goes back to the queue, which waits
    /// until the remote is available.
    func whileThere(_ body: () async throws -> Outcome) async throws -> Outcome {
        guard try await pusher.availability.enter() else { return .snooze(for: .zero) }
        defer { pusher.availability.leave() }
        let progress = WatchedRemote.Progress { [id = attempt.id.rawValue, failures = pusher.failures] in
            failures.recordProgress(of: id)
        }
        return try await WatchedRemote.$progress.withValue(progress) { try await body() }
    }

    /// The request for a node's content to the application.
    func request(for node: CloudNode.Row, at path: TreePath, link: String?) -> ContentRequest {
        ContentRequest(account: info.account, node: node.id, path: path, section: .data, link: link)
    }

    // MARK: Outcomes

    /// Uploads a node and everything in it again, because another machine has deleted it.
    func requeueUpload() -> Outcome {
        .done { [info, work] context in
            let cloud = CloudContext(context, info)
            try cloud.forgetConflict(of: work.node)
            try cloud.requeueUpload(allOf: work.node, work.sections ?? [])
        }
    }

    /// Creates a node at its current place, before the queued move runs.
    func createAtCurrentPlace() -> Outcome {
        .done { [info, work] context in
            let cloud = CloudContext(context, info)
            guard let node = try context.find(cloud.nodeID(work.node)) else { return }
            try cloud.requeueUpload(node, work.sections ?? (node.isFolder ? [] : .data))
        }
    }

    // MARK: Recording

    /// Records in a separate commit that an object is about to be sent, so that a later attempt recognises it.
    func recordIntent(
        _ work: CloudWork,
        _ change: @escaping @Sendable (RemoteNode, CloudContext) throws -> Void = { _, _ in }
    )
        async throws
    {
        try await stack.writeOverStore(on: pusher.intents, pace: pusher.intentPace) { [info] context in
            let cloud = CloudContext(context, info)
            try change(cloud.remoteForSending(work), cloud)
        }
    }
}

/// An operation of one kind, as it is carried out at the remote.
///
/// The operation looks up keys when it runs, from the known state of the remote. Earlier operations have already
/// recorded their results there. If an operation took effect but was not recorded, the next attempt recognises its
/// result.
protocol Push: Sendable {
    var session: PushSession { get }

    /// Carries out the operation.
    ///
    /// - Throws: errors of the remote, the handler and the store. ``PushFailures`` decides what an error does to the
    ///   operation.
    func run() async throws -> Outcome
}

extension Push {
    var attempt: Attempt<CloudWork> { session.attempt }
    var stack: ContextStack { session.stack }
    var info: AccountInfo { session.info }
    var remote: any Remote { session.remote }
    var handler: any CloudHandler { session.pusher.handler }
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
}
