import Foundation
import Strata
import StrataPipeline

extension Pusher {
    /// Makes a folder, or sends the record of a file to a remote that keeps records.
    func sendRecord(_ attempt: Attempt<CloudWork>) async throws -> Outcome {
        let (work, facts) = (attempt.payload, facts)
        let target = try await target(of: work)
        guard let key = try await key(of: target, work) else { return sendWhereItLies(work) }
        if target.isTaken { return try await evade(attempt, key) }
        if work.isFolder ?? false {
            if target.remote.map({ !$0.isFolder }) ?? false,
                let outcome = try await makeFolder(for: attempt, target, key)
            {
                return outcome
            }
            // One that is there already is taken for it: nothing is lost by that.
            if !target.isThere {
                try await intend(work)
                do { try await remote.createFolder(key) } catch let error as RemoteError where error.code == .occupied {
                    return try await evade(attempt, key)
                }
            }
            return .done { context in
                try CloudContext(context, facts).remoteForSending(work).isCertain = true
            }
        }
        guard facts.keepsRecords, let node = target.node else { return .skip }
        let body = RemoteBody(try Record(node).data)
        let eTag = target.remote?.recordETag.map { ETag(stored: $0) }
        let object = try await remote.put(body, at: key.sidecar(Sidecar.record), if: eTag.map { .matches($0) } ?? .none)
        return .done { [covered = target.covered] context in
            let cloud = CloudContext(context, facts)
            let remote = try cloud.remoteForSending(work)
            (remote.recordETag, remote.isCertain) = (object.eTag?.stored, true)
            try cloud.skip(covered)
        }
    }

    /// What becomes of an operation whose name the remote refuses, where that is not the last word: what is to be moved on, or was deleted
    /// here, has a name of no meaning until then.
    ///
    /// - Returns: nil where it takes a person to find another name.
    func evadeRefusal(_ attempt: Attempt<CloudWork>) async throws -> Outcome? {
        let (facts, id, work) = (facts, attempt.id, attempt.payload)
        guard let folder = work.parent, work.kind != .message else { return nil }
        let (key, isGone, isMovedOn) = try await stack.overStore { context in
            let cloud = CloudContext(context, facts)
            let moves = try cloud.queued(for: work.node, .move).filter { $0.id > id }
            let isGone = try Self.isGone(context.find(cloud.nodeID(work.node)))
            return try (cloud.remote(folder)?.key, isGone, !moves.isEmpty)
        }
        guard isGone || isMovedOn else { return nil }
        let standIn = Self.standIn(for: work.node)
        if work.name?.hasBytePrefix(standIn) ?? false {
            // Not even that: it is not made, or stays where it lies, until it is deleted there.
            guard isGone else { return nil }
            return work.kind == .move
                ? .done { CloudContext($0, facts).deleteLater(work.node) } : try await delete(attempt)
        }
        // Without a folder to lie in it is not sent.
        guard let key else { return .retry(after: .zero) }
        return try await evade(attempt, key.appending(standIn), as: standIn)
    }

    /// Whether a node was deleted here, or is to be at no remote any more.
    private static func isGone(_ node: CloudNode?) -> Bool { node.map { $0.trunk == .detached } ?? true }

    /// The name of no meaning that a node has until it is moved on, or deleted.
    static func standIn(for node: Int64) -> String { "strata-\(node)" }

    /// Gives way to what somebody else has put at the place where a node is to be made: the node takes another name that is free. What was
    /// deleted here meanwhile need not be made, but for folders, which others may pass through; it is moved all the same, since its place is to be
    /// free for others, and deleted behind what reads it.
    ///
    /// - Parameters:
    ///   - name: which one, or with a number where that is taken; by default the one that it was to have.
    ///   - other: the folder that it is put into instead of that which it was to lie in.
    func evade(
        _ attempt: Attempt<CloudWork>,
        _ key: RemoteKey,
        as name: String? = nil,
        in other: Int64? = nil
    ) async throws -> Outcome {
        let (facts, id, work) = (facts, attempt.id, attempt.payload)
        // Others lie there that were not heard of, it may be.
        let taken = try await names(in: key.parent ?? .root)
        try await stack.overStore { context in
            let cloud = CloudContext(context, facts)
            guard let operation = try context.find(id) else { return }
            let node = try context.find(cloud.nodeID(work.node))
            let isGone = Self.isGone(node)
            // Where it is to be made, wherever it is to be moved later.
            guard let number = other ?? work.parent ?? node?.parent?.id.number,
                !isGone || work.kind == .move || work.isFolder ?? false
            else {
                operation.skip()
                try cloud.forgetUncertain(work.node)
                return try context.commit()
            }
            let folder = cloud.nodeID(number)
            // What is known to lie there may be somewhere else here, and is still to be moved or deleted there.
            let known = try cloud.remote(number)?.children.fetch().filter { $0.id.number != work.node } ?? []
            let ownName = isGone ? nil : work.name ?? node?.name
            let name = try cloud.freeName(
                for: name ?? ownName ?? Self.standIn(for: work.node),
                in: folder,
                besides: taken.union(
                    known.compactMap { RemoteKey(escaped: [$0.segment]).name?.name }.map {
                        UTF8Text(facts.rule.place(of: $0))
                    }
                ),
                isForNow: true
            )
            // One that is to be moved on is at another place only until then.
            let isLast = try !isGone && cloud.queued(for: work.node, .move).allSatisfy { $0.id == id }
            if let node, isLast, work.name.hasSameBytes(as: node.name), node.parent?.id.number == work.parent {
                cloud.setName(name, of: node)
            }
            // What is to be moved may still lie where it was sent without an answer.
            if work.kind != .move, let remote = try cloud.remote(work.node), !remote.isCertain {
                remote.segment = RemoteKey.escape(name)
            }
            var work = work
            (work.parent, work.name) = (number, name)
            try operation.setPayload(work)
            cloud.declare(operation, reads: [], writes: [.place(facts.rule.place(of: name), in: folder)], work)
            // What deletes the folder that it was to lie in does not find it.
            if isGone, other != nil { cloud.deleteLater(work.node) }
            operation.retry()
            try context.commit()
        }
        return .retry(after: .zero)
    }

    private func names(in folder: RemoteKey) async throws -> Set<UTF8Text> {
        do {
            let names = try await remote.everything(in: folder).compactMap { $0.key.name?.name }
            return Set(names.map { UTF8Text(facts.rule.place(of: $0)) })
        } catch let error as RemoteError where error.code == .invalidKey {
            // In what cannot be there is nothing.
            return []
        }
    }
}

extension CloudContext {
    /// The operations of one kind that are queued for a node.
    fileprivate func queued(for number: Int64, _ kind: CloudWork.Kind) throws -> [QueuedOperation] {
        try context.fetch(queued(for: number)).filter { try $0.payload(as: CloudWork.self).kind == kind }
    }

    /// Deletes at the remote what is gone here, behind everything that is queued for it.
    fileprivate func deleteLater(_ number: Int64) {
        queue(CloudWork(kind: .delete, node: number), reads: [], writes: [.node(nodeID(number))])
    }

    /// Forgets what may have been sent of something to a place where something else lies.
    fileprivate func forgetUncertain(_ number: Int64) throws {
        guard let remote = try remote(number), !remote.isCertain else { return }
        for row in try remote.subtree().reversed() { context.delete(row) }
    }
}

/// What a remote that keeps records is sent of a node.
private struct Record: Codable {
    var shares: ShareList
    var pointer: Int64?

    init(_ node: CloudNode.Row) { (shares, pointer) = (node.shares, node.pointer?.number) }

    var data: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            return try encoder.encode(self)
        }
    }
}
