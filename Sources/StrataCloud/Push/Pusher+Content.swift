import Crypto
import Foundation
import Strata
import StrataPipeline

extension Pusher {
    /// What was sent of a section.
    private struct Sent: Sendable {
        let section: ContentSections
        let object: RemoteObject
        let print: ContentPrint
    }

    /// Sends sections of a node's content, as it is now.
    func sendContent(_ attempt: Attempt<CloudWork>) async throws -> Outcome {
        let work = attempt.payload
        let target = try await target(of: work)
        // What was deleted here is deleted there by the operation behind this one.
        guard let node = target.node, let path = target.path, node.trunk != .detached else { return .skip }
        let key = try await key(of: target, work)
        if target.isTaken { return try await evade(attempt, key) }
        var sent: [Sent] = []
        // What goes with the content comes behind it: where the content is somebody else's, so is that.
        for section in (work.sections ?? .data).subtracting(.header).elements.reversed() {
            let request = ContentRequest(
                account: facts.account,
                node: node.id,
                path: path,
                section: section,
                link: node.link ?? work.sourceLink
            )
            guard let body = try await handler.content(for: request) else { continue }
            let place = TransferBook.Key(direction: .upload, number: attempt.id.number, section: section)
            let transfer = transfers.begin(place, of: work.node, size: body.size)
            defer { transfer.end() }
            switch try await send(body, section, to: key, target, attempt, transfer) {
            case .sent(let object, let print):
                transfer.pass(all: body.size)
                sent.append(Sent(section: section, object: object, print: print))
            case .evaded(let outcome): return outcome
            }
        }
        return .done { [facts, handler, sent, covered = target.covered] context in
            let cloud = CloudContext(context, facts)
            let remote = try cloud.remoteForSending(work)
            for part in sent { remote.note(part.object, part.section, part.print.text) }
            try cloud.skip(covered)
            try cloud.forgetConflict(of: work.node)
            try cloud.forgetParts(of: work.node)
            if let node = try context.find(cloud.nodeID(work.node)) {
                try handler.didUpload(ContentSections(sent.map(\.section)), of: node, in: cloud)
            }
        }
    }

    private enum Sending {
        case sent(RemoteObject, ContentPrint)
        case evaded(Outcome)
    }

    /// Sends a section on the condition that the remote has what was last heard of it.
    private func send(
        _ body: RemoteBody,
        _ section: ContentSections,
        to key: RemoteKey,
        _ target: Target,
        _ attempt: Attempt<CloudWork>,
        _ transfer: FollowedTransfer
    ) async throws -> Sending {
        let print = try await ContentPrint(of: body)
        var body = body.followed(by: transfer)
        body.mark = print.text
        // Parts that go with the content are overwritten: whose the content is, theirs are.
        let earlier = section == .data ? target.remote?.prints ?? [] : nil
        if section == .data { try await intend(attempt.payload) { $0.note(sending: print.text) } }
        let place = Sidecar.key(key, section)
        let known = target.remote?.eTag(of: section)
        var condition: RemoteCondition = known.map { .matches($0) } ?? .isAbsent
        for _ in 0..<Self.tries {
            do {
                return .sent(try await put(body, section, at: place, if: condition, print, attempt), print)
            } catch let error as RemoteError where error.code == .conditionFailed || error.code == .occupied {
                guard let there = try await remote.head(place) else {
                    // What is here and was not sent is worth more than that somebody has deleted what was there before.
                    condition = .isAbsent
                    continue
                }
                // Where the remote was known to have it, it is not for the node to give way.
                let isNew = !target.isThere
                if there.isFolder {
                    if isNew { return .evaded(try await evade(attempt, key)) }
                    return .evaded(try await hold(attempt, section, known, there))
                }
                if try await isOwn(there, print) { return .sent(there, print) }
                if try await isEarlier(there, earlier) {
                    condition = there.eTag.map { .matches($0) } ?? .none
                    continue
                }
                if isNew { return .evaded(try await evade(attempt, key)) }
                return .evaded(try await hold(attempt, section, known, there))
            }
        }
        throw RemoteError(.conditionFailed, "\(place) changes again and again.", key: place)
    }

    private static let tries = 4

    /// Whether what is there was sent from here before, or is a part that goes with what was.
    private func isEarlier(_ there: RemoteObject, _ prints: [ContentPrint]?) async throws -> Bool {
        guard let prints else { return true }
        return try await isOwn(there, anyOf: prints)
    }

    /// Whether what is there is what was sent, the answer being lost.
    func isOwn(_ there: RemoteObject, _ print: ContentPrint) async throws -> Bool {
        try await isOwn(there, anyOf: [print])
    }

    /// The same of several that were sent.
    func isOwn(_ there: RemoteObject, anyOf prints: [ContentPrint]) async throws -> Bool {
        if let mark = there.mark { return prints.contains { $0.text == mark } }
        guard prints.contains(where: { there.size == nil || there.size == $0.size }) else { return false }
        let download = try await remote.get(there.key, range: nil, if: there.eTag.map { .matches($0) } ?? .none)
        return try await prints.contains(ContentPrint(of: download.chunks))
    }

    /// Holds the uploads of a node that somebody else has changed, until the application says what is to be done.
    private func hold(
        _ attempt: Attempt<CloudWork>,
        _ section: ContentSections,
        _ known: ETag?,
        _ there: RemoteObject
    ) async throws -> Outcome {
        let (facts, handler, number) = (facts, handler, attempt.payload.node)
        try await stack.overStore { context in
            let cloud = CloudContext(context, facts)
            var conflict = try context.first(CloudConflict.where { $0.nodeNumber == number })
            if conflict == nil {
                conflict = context.insert(CloudConflict(account: facts.account, nodeNumber: number, section: section))
            }
            guard let conflict else { return }
            (conflict.section, conflict.knownETag) = (section, known?.stored)
            (conflict.remoteETag, conflict.remoteSize) = (there.eTag?.stored, there.size)
            try handler.didFind(conflict, in: cloud)
            try context.commit()
        }
        return .wait(CloudAccount.conflict)
    }
}

/// What tells contents apart: their size and SHA-256.
struct ContentPrint: Hashable, Sendable {
    let digest: String
    let size: Int64

    init(of body: RemoteBody) async throws {
        try await self.init(of: body.chunks())
        guard size == body.size else { throw RemoteError.wrongSize(size, body.size) }
    }

    init(of chunks: AsyncThrowingStream<Data, any Error>) async throws {
        var hash = SHA256()
        var size: Int64 = 0
        for try await chunk in chunks {
            hash.update(data: chunk)
            size += Int64(chunk.count)
        }
        // To a task that is cancelled the chunks just end.
        try Task.checkCancellation()
        digest = hash.finalize().map { String(format: "%02x", $0) }.joined()
        self.size = size
    }

    init?(text: String) {
        let parts = text.split(separator: "-")
        guard parts.count == 2, let size = Int64(parts[1]) else { return nil }
        (digest, self.size) = (String(parts[0]), size)
    }

    var text: String { "\(digest)-\(size)" }
}

extension RemoteNode {
    /// Writes down that something is about to be sent.
    func note(sending print: String) {
        sending = sending.filter { $0 != print }.suffix(Self.longestSending - 1) + [print]
    }

    /// More than there are attempts, as long as nobody asks for more.
    private static let longestSending = 32

    /// Writes down what the remote has since an answer of it.
    func note(_ object: RemoteObject, _ section: ContentSections, _ print: String?) {
        setETag(object.eTag?.stored, of: section)
        isCertain = true
        guard section == .data else { return }
        (size, modifiedAt, sending, contentPrint) = (object.size, object.modifiedAt, [], print)
    }
}
