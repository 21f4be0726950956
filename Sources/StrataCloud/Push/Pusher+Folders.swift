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
            // One that is there already is taken for it: folders have no content that could be lost.
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

    /// What becomes of an operation whose name the remote refuses, where that is not the last word: what is to be moved on has a name of no
    /// meaning until then, and so has a folder that was deleted here, which others pass through; a file that was deleted here is deleted there.
    ///
    /// - Returns: nil where it takes a person to find another name.
    func evadeRefusal(_ attempt: Attempt<CloudWork>) async throws -> Outcome? {
        let (facts, id, work) = (facts, attempt.id, attempt.payload)
        let standIn = Self.standIn(for: work.node)
        guard let folder = work.parent, work.kind != .message, work.name?.hasPrefix(standIn) == false else {
            return nil
        }
        let (key, isGone, isMovedOn) = try await stack.overStore { context in
            let cloud = CloudContext(context, facts)
            let moves = try cloud.queued(for: work.node, .move).filter { $0.id > id }
            return try (cloud.remote(folder)?.key, cloud.isGone(work.node), !moves.isEmpty)
        }
        guard let key else { return isGone ? try await delete(attempt) : nil }
        return isGone || isMovedOn ? try await evade(attempt, key.appending(standIn), as: standIn) : nil
    }

    /// The name of no meaning that a node has until it is moved on, or deleted.
    static func standIn(for node: Int64) -> String { "strata-\(node)" }

    /// Gives way to what somebody else has put at the place where a node is to be made: the node takes another name that is free. A file that
    /// was deleted here meanwhile is deleted there, where it lies.
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
        let isNeeded = try await stack.overStore { context in
            let cloud = CloudContext(context, facts)
            guard let operation = try context.find(id) else { return true }
            let isGone = try cloud.isGone(work.node)
            guard !isGone || work.isFolder ?? false else { return false }
            let node = try context.find(cloud.nodeID(work.node))
            // Where it is to be made, wherever it is to be moved later.
            guard let number = other ?? work.parent ?? node?.parent?.id.number else { return true }
            let folder = cloud.nodeID(number)
            // What is known to lie there may be somewhere else here, and is still to be moved or deleted there.
            let known = try cloud.remote(number)?.children.fetch().filter { $0.id.number != work.node } ?? []
            let ownName = isGone ? nil : work.name ?? node?.name
            let name = try cloud.freeName(
                for: name ?? ownName ?? Self.standIn(for: work.node),
                in: folder,
                besides: taken.union(
                    known.compactMap { RemoteKey(escaped: [$0.segment]).name?.name }.map(facts.rule.place)
                ),
                isForNow: true
            )
            // One that is to be moved on is at another place only until then.
            let isLast = try cloud.queued(for: work.node, .move).allSatisfy { $0.id == id }
            if let node, isLast, node.name == work.name, node.parent?.id.number == work.parent {
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
            operation.retry()
            try context.commit()
            return true
        }
        return isNeeded ? .retry(after: .zero) : try await delete(attempt)
    }

    private func names(in folder: RemoteKey) async throws -> Set<String> {
        let names = try await remote.everything(in: folder).compactMap { $0.key.name?.name }
        return Set(names.map(facts.rule.place))
    }
}

extension CloudContext {
    /// The operations of one kind that are queued for a node.
    fileprivate func queued(for number: Int64, _ kind: CloudWork.Kind) throws -> [QueuedOperation] {
        try context.fetch(queued(for: number)).filter { try $0.payload(as: CloudWork.self).kind == kind }
    }

    /// Whether a node was deleted here, or is to be at no remote any more.
    fileprivate func isGone(_ number: Int64) throws -> Bool {
        let node = try context.find(nodeID(number))
        return node == nil || node?.trunk == .detached
    }
}

/// The marks of what is kept beside an object.
enum Sidecar {
    static let metadata = "metadata"
    static let thumbnail = "thumbnail"
    static let record = "record"
    static let all: Set = [metadata, thumbnail, record]

    static func key(_ key: RemoteKey, _ section: ContentSections) -> RemoteKey {
        switch section {
        case .metadata: key.sidecar(metadata)
        case .thumbnail: key.sidecar(thumbnail)
        default: key
        }
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
