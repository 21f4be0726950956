import Foundation
import Strata
import StrataPipeline

extension Pusher {
    /// An object that is to be sent.
    struct Part: Sendable {
        /// The section; ``ContentSections/data`` for a sealed file, which holds all of them.
        let section: ContentSections
        let body: RemoteBody
        let print: ContentPrint
        /// How it is sealed.
        var seal: Seal?
    }

    /// What was sent.
    private struct Sent: Sendable {
        let part: Part
        let written: Written

        /// What the application is told to have been sent.
        var sections: ContentSections { part.seal?.given ?? part.section }

        func note(in remote: RemoteNode, _ cloud: CloudContext) throws {
            remote.note(written.object, part.section, part.print.text, part.seal?.known)
            if let upload = written.upload { try cloud.forgetParts(upload, of: remote.id.number) }
        }
    }

    /// Sends sections of a node's content, as it is now.
    func sendContent(_ attempt: Attempt<CloudWork>) async throws -> Outcome {
        var work = attempt.payload
        let target = try await target(of: work)
        // What was deleted here is deleted there by the operation behind this one.
        guard let node = target.node, let path = target.path, node.trunk != .detached else { return .skip }
        guard let key = try await key(of: target, work) else { return sendWhereItLies(work) }
        if target.isTaken { return try await evade(attempt, key) }
        if node.isFolder, let outcome = try await makeFolder(for: attempt, target, key) { return outcome }
        // As it was when the place of the content was chosen: it may become a folder at any time.
        work.isFolder = node.isFolder
        let request = self.request(for: node, at: path, link: node.link ?? work.sourceLink)
        let parts: [Part]
        do { parts = try await self.parts(of: request, target, at: key) } catch let error as RemoteError
            where error.code == .conditionFailed
        {
            // What is sent along is of another version than the one that is known.
            let place = Sidecar.key(key, .data, isFolder: node.isFolder)
            guard let there = try await remote.head(place) else { throw error }
            if there.isFolder { return try await sendToFolderOrAnew(attempt, key) }
            if try await isOwn(there, anyOf: target.remote?.prints ?? []) { return try await catchUp(attempt, there) }
            return try await hold(attempt, .data, target.remote?.eTag(of: .data), there, target)
        }
        if !parts.isEmpty { try await intend(parts, work) }
        var sent: [Sent] = []
        for part in parts {
            let place = TransferBook.Key(direction: .upload, number: attempt.id.number, section: part.section)
            let transfer = transfers.begin(place, of: work.node, size: part.body.size)
            defer { transfer.end() }
            switch try await send(part, to: key, target, attempt, transfer) {
            case .sent(let written):
                transfer.pass(all: part.body.size)
                sent.append(Sent(part: part, written: written))
            case .taken: return try await evade(attempt, key)
            case .replaced: return try await sendToFolderOrAnew(attempt, key)
            case .earlier(let there): return try await catchUp(attempt, there)
            case .conflict(let known, let there):
                return try await hold(attempt, part.section, known, there, target, part.seal, behind: sent)
            }
        }
        if facts.isSealed, !sent.isEmpty { try await deleteSidecars(of: target, at: key) }
        if sent.isEmpty, !target.sections.subtracting(.header).elements.isEmpty {
            stack.log(.notice, "nothing of \(path) was sent: the handler has given no content of it.")
        }
        return .done { [facts, handler, work, sent, covered = target.covered] context in
            let cloud = CloudContext(context, facts)
            // Where nothing was sent, nobody shall take what others may put there for something of this machine's.
            if !sent.isEmpty {
                let remote = try cloud.remoteForSending(work)
                for sent in sent { try sent.note(in: remote, cloud) }
            }
            try cloud.skip(covered)
            try cloud.forgetConflict(of: work.node)
            try cloud.forgetSeal(of: work.node)
            if !sent.isEmpty, let node = try context.find(cloud.nodeID(work.node)) {
                try handler.didUpload(ContentSections(sent.map(\.sections)), of: node, in: cloud)
            }
        }
    }

    /// What the application is asked for the content of a node by.
    func request(for node: CloudNode.Row, at path: TreePath, link: String?) -> ContentRequest {
        ContentRequest(account: facts.account, node: node.id, path: path, section: .data, link: link)
    }

    /// What the application gives of the sections that are to be sent, the content first: where that is somebody else's, so is what goes with it.
    private func parts(of request: ContentRequest, _ target: Target, at key: RemoteKey) async throws -> [Part] {
        if let sealing {
            return try await sealedPart(of: request, target, at: key, sealing).map { [$0] } ?? []
        }
        var parts: [Part] = []
        for section in target.sections.subtracting(.header).elements.reversed() {
            guard let body = try await handler.content(for: request.asking(section))?.gathered() else { continue }
            parts.append(Part(section: section, body: body, print: try await ContentPrint(of: body)))
        }
        return parts
    }

    /// Writes down what is about to be sent, so that it is recognised later on, and how it is sealed, so that it is sealed so again.
    private func intend(_ parts: [Part], _ work: CloudWork) async throws {
        try await intend(work) { remote, cloud in
            for part in parts {
                remote.note(sending: RemoteNode.sending(part.print, of: part.section))
                if let seal = part.seal { try cloud.keep(seal.ticket, of: work.node) }
            }
        }
    }

    private enum Sending {
        case sent(Written)
        /// Something else lies where it is to be made.
        case taken
        /// A folder lies where it was.
        case replaced
        /// What is there was sent from here before, and what is sent along has to come from there.
        case earlier(RemoteObject)
        /// Somebody else has written it: the version that was known, and what is there.
        case conflict(ETag?, RemoteObject)
    }

    /// Sends a part on the condition that the remote has what was last heard of it.
    private func send(
        _ part: Part,
        to key: RemoteKey,
        _ target: Target,
        _ attempt: Attempt<CloudWork>,
        _ transfer: FollowedTransfer
    ) async throws -> Sending {
        var body = part.body.followed(by: transfer)
        body.mark = part.print.text
        let place = Sidecar.key(key, part.section, isFolder: target.node?.isFolder ?? false)
        let earlier = part.section == .data ? target.remote?.prints : target.remote?.sentPrints(of: part.section)
        let known = target.remote?.eTag(of: part.section)
        // Where the remote was known to have it, it is not for the node to give way.
        let isNew = !target.isThere
        var condition: RemoteCondition = known.map { .matches($0) } ?? .isAbsent
        for _ in 0..<Self.tries {
            do {
                return .sent(try await put(body, part.section, at: place, if: condition, part.print, attempt))
            } catch let error as RemoteError where error.code == .conditionFailed || error.code == .occupied {
                guard let there = try await remote.head(place) else {
                    if part.section == .data, try await isContentOfFolder(place, target) { return .replaced }
                    if target.node?.isFolder ?? false, try await isFolderGone(key) {
                        // Beside a place that another machine may give a file, no pull would find it.
                        throw RemoteError(.parentMissing, "The folder \(key) is not there any more.", key: key)
                    }
                    // What is here and was not sent is worth more than that somebody has deleted what was there before.
                    condition = .isAbsent
                    continue
                }
                if there.isFolder { return isNew ? .taken : .replaced }
                if try await isOwn(there, part.print) { return .sent(Written(object: there)) }
                // What lies beside a place where there was nothing goes with something that is gone.
                var isEarlier = isNew && part.section != .data
                if !isEarlier { isEarlier = try await isOwn(there, anyOf: earlier ?? []) }
                if !isEarlier, earlier?.contains(part.print) ?? false {
                    isEarlier = try await isBrokenOff(there, part)
                }
                if isEarlier {
                    if part.seal?.isPartly ?? false { return .earlier(there) }
                    condition = there.eTag.map { .matches($0) } ?? .none
                    continue
                }
                return isNew ? .taken : .conflict(known, there)
            }
        }
        throw RemoteError(.conditionFailed, "\(place) changes again and again.", key: place)
    }

    private static let tries = 4

    private func isFolderGone(_ key: RemoteKey) async throws -> Bool {
        guard try await remote.capabilities().hasFolders else { return false }
        return try await !(remote.head(key)?.isFolder ?? false)
    }

    /// Whether another machine has made a folder of a file, and has moved the content beside it.
    private func isContentOfFolder(_ place: RemoteKey, _ target: Target) async throws -> Bool {
        guard target.isThere, target.remote?.isFolder == false else { return false }
        return try await remote.head(place.sidecar(Sidecar.content)) != nil
    }

    /// The outcome of an upload if the known file has been replaced by a folder, or by the content of one.
    private func sendToFolderOrAnew(_ attempt: Attempt<CloudWork>, _ key: RemoteKey) async throws -> Outcome {
        // Another machine has made a folder of the file. When a pull has found that, the content is sent to beside the folder.
        if try await isConvertedByOthers(key) {
            return try await outcome(
                ofMissingFolder: RemoteError(.occupied, "There is a folder at \(key) now.", key: key),
                attempt
            )
        }
        // Of what lay there nothing is left that could be compared with this.
        return sendAnew(attempt.payload)
    }

    /// Writes down that what is there was sent from here, without an answer, and goes on from that.
    ///
    /// - Parameter seal: how it is sealed, where that was looked at.
    private func catchUp(
        _ attempt: Attempt<CloudWork>,
        _ there: RemoteObject,
        _ seal: KnownSeal? = nil
    ) async throws -> Outcome {
        try await intend(attempt.payload) { remote, _ in remote.note(there, .data, nil, seal) }
        return .postpone(for: .zero)
    }

    /// Whether what is there is what was sent, the answer being lost.
    func isOwn(_ there: RemoteObject, _ print: ContentPrint) async throws -> Bool {
        try await isOwn(there, anyOf: [print])
    }

    /// The same of several that were sent.
    func isOwn(_ there: RemoteObject, anyOf prints: [ContentPrint]) async throws -> Bool {
        if let mark = there.mark { return prints.contains { $0.text.hasSameBytes(as: mark) } }
        let prints = prints.filter { there.size == nil || there.size == $0.size }
        guard !prints.isEmpty else { return false }
        let condition = there.eTag.map { RemoteCondition.matches($0) } ?? .none
        if prints.contains(where: \.isSealed), there.size ?? .max >= SealedFile.preambleSize {
            let start = try await remote.get(there.key, range: 0..<SealedFile.preambleSize, if: condition)
            let size = there.size ?? start.object.size ?? 0
            if prints.contains(ContentPrint(sealed: try await start.data(), size: size)) { return true }
        }
        guard prints.contains(where: { !$0.isSealed }) else { return false }
        return try await prints.contains(
            ContentPrint(of: remote.get(there.key, range: nil, if: condition).chunks)
        )
    }

    /// Whether what is there is the beginning of what was being sent, at a server that writes in place.
    private func isBrokenOff(_ there: RemoteObject, _ part: Part) async throws -> Bool {
        guard let size = there.size, size < part.body.size, part.seal?.isPartly != true else { return false }
        let condition = there.eTag.map { RemoteCondition.matches($0) } ?? .none
        let arrived = try await ContentPrint(of: remote.get(there.key, range: nil, if: condition).chunks)
        return try await arrived == ContentPrint(of: part.body.chunks(0..<size))
    }

    /// Holds the uploads of a node that somebody else has changed, until the application says what is to be done.
    private func hold(
        _ attempt: Attempt<CloudWork>,
        _ section: ContentSections,
        _ known: ETag?,
        _ there: RemoteObject,
        _ target: Target,
        _ seal: Seal? = nil,
        behind sent: [Sent] = []
    ) async throws -> Outcome {
        let (facts, handler, work) = (facts, handler, attempt.payload)
        var section = section
        if let difference = try await sealedDifference(of: there, work, target, seal) {
            // The same content, encrypted anew.
            if difference.sections.isEmpty { return try await catchUp(attempt, there, difference.seal) }
            section = difference.sections
        }
        try await stack.overStore { [section] context in
            let cloud = CloudContext(context, facts)
            if !sent.isEmpty {
                // That much has arrived, whatever becomes of the rest.
                let remote = try cloud.remoteForSending(work)
                for sent in sent { try sent.note(in: remote, cloud) }
            }
            let conflict =
                try context.first(CloudConflict.where { $0.nodeNumber == work.node })
                ?? context.insert(CloudConflict(account: facts.account, nodeNumber: work.node, section: section))
            (conflict.section, conflict.knownETag) = (section, known?.stored)
            (conflict.remoteETag, conflict.remoteSize) = (there.eTag?.stored, there.size)
            try handler.didFind(conflict, in: cloud)
            try context.commit()
        }
        return .wait(CloudAccount.conflict)
    }
}

extension RemoteNode {
    /// Writes down that something is about to be sent.
    func note(sending print: String) {
        sending = sending.filter { $0 != print }.suffix(Self.longestSending - 1) + [print]
    }

    /// More than there are attempts, as long as nobody asks for more.
    private static let longestSending = 32

    /// Writes down what the remote has since an answer of it.
    func note(_ object: RemoteObject, _ section: ContentSections, _ print: String?, _ seal: KnownSeal? = nil) {
        setETag(object.eTag?.stored, of: section)
        (isCertain, isListed) = (true, false)
        guard section == .data else {
            sending.removeAll { Self.print(of: section, in: $0) != nil }
            return
        }
        (size, modifiedAt, contentPrint) = (object.size, object.modifiedAt, print)
        self.seal = seal?.moved(to: object.eTag)
        sending.removeAll { Self.print(of: .data, in: $0) != nil }
        guard let seal, !seal.isPlain else { return }
        // What lay beside the file is within it.
        (metadataETag, thumbnailETag) = (nil, nil)
    }
}
