import Strata
import StrataPipeline

/// What lies beside files and folders goes where they go.
extension Pusher {
    /// Makes a folder, if necessary, before its sidecars are written.
    ///
    /// - Returns: nil if it is there.
    func makeFolder(for attempt: Attempt<CloudWork>, _ target: Target, _ key: RemoteKey) async throws -> Outcome? {
        if let file = target.remote, !file.isFolder {
            return try await convert(file, at: key, attempt)
        }
        if target.isThere {
            guard try await remote.capabilities().hasFolders else { return nil }
            guard try await remote.head(key) == nil else { return nil }
            if try await makeFolderOfContent(key, target.remote) { return nil }
            // Another machine has deleted it. The pull makes it again, or deletes it here as well.
            throw RemoteError(.parentMissing, "The folder \(key) is not there any more.", key: key)
        }
        var work = attempt.payload
        // It may have been queued before the file became a folder.
        work.isFolder = true
        try await intend(work)
        do { try await remote.createFolder(key) } catch let error as RemoteError where error.code == .occupied {
            return try await evade(attempt, key)
        }
        try await intend(work) { remote, _ in remote.isCertain = true }
        return .postpone(for: .zero)
    }

    /// Makes a folder of a file that the remote has, or may have. The content goes beside the folder: a place cannot be a file and a folder in most
    /// file systems.
    ///
    /// The content is moved first, then the folder is made, then both are recorded. A repeat continues after the steps
    /// that are done already. If other machines look in between, they find the content of a folder, and take the folder
    /// for made.
    ///
    /// A version that another machine has written meanwhile is moved as well, but not taken for known: the next pull reports it.
    private func convert(
        _ file: RemoteNode.Row,
        at key: RemoteKey,
        _ attempt: Attempt<CloudWork>
    ) async throws -> Outcome {
        let (work, content) = (attempt.payload, key.sidecar(Sidecar.content))
        let capabilities = try await remote.capabilities()
        // A delete that ends the conversion looks for the content at both places.
        try await intend(work) { remote, _ in
            guard try remote.parent?.child(remote.segment, isFolder: true) == nil else {
                throw CloudError(
                    .placeTaken,
                    "The remote has a file and a folder at \(key), which are two nodes here. The file cannot become that folder: give it another name.",
                    nodes: [work.node]
                )
            }
            remote.isConverting = true
        }
        if let there = try await remote.head(key), !there.isFolder {
            // Ours has not arrived, and another machine has put a file at this place.
            if !file.isCertain, try await !isVersion(there, of: file) { return try await evade(attempt, key) }
            _ = try await carryOne(key, to: content, isFolder: false, capabilities, file)
        } else if file.isCertain, try await remote.head(content) == nil {
            // Another machine has deleted the file. This machine's content is worth more, and is sent to its current
            // place.
            return sendAnew(work)
        }
        try await remote.createFolder(key)
        var moved = try await remote.head(content)
        let isSame = file.isCertain && ETag.isSame(moved?.eTag, file.eTag)
        // Another machine may have written it at any moment before.
        if !isSame, let there = moved, try await !isOwn(there, anyOf: file.prints) { moved = nil }
        try await intend(work) { [moved] remote, _ in
            let (print, seal) = isSame ? (remote.contentPrint, file.knownSeal) : (nil, nil)
            (remote.isFolder, remote.isConverting, remote.isCertain, remote.isListed) = (true, false, true, false)
            if let moved { remote.note(moved, .data, print, seal) }
        }
        return .postpone(for: .zero)
    }

    /// Whether an object has the known version of a file, or is an upload of it that the remote has not acknowledged.
    private func isVersion(_ object: RemoteObject, of file: RemoteNode.Row) async throws -> Bool {
        if file.isCertain, ETag.isSame(object.eTag, file.eTag) { return true }
        return try await isOwn(object, anyOf: file.prints)
    }

    /// Deletes the sidecars beside a free place: they belong to a deleted node, and would become a part of the next
    /// node at this place.
    func deleteSidecars(leftAt key: RemoteKey, _ marks: [String]) async throws {
        for mark in marks where mark != Sidecar.content {
            let place = key.sidecar(mark)
            guard let left = try await remote.head(place), !left.isFolder else { continue }
            // In this order: content comes before what goes with it.
            guard try await isFree(key) else { return }
            do {
                try await remote.delete(place, isFolder: false, if: left.eTag.map { .matches($0) } ?? .none)
            } catch let error as RemoteError where error.code == .conditionFailed {
                // Another machine writes there.
            }
        }
    }

    /// Makes a folder of which the remote has only the content: its conversion is not finished, or it was deleted before its content had changed.
    ///
    /// - Returns: whether there was such content.
    func makeFolderOfContent(_ key: RemoteKey, _ row: RemoteNode.Row?) async throws -> Bool {
        guard row?.isFolder ?? false, row?.eTag != nil, try await remote.head(key.sidecar(Sidecar.content)) != nil
        else { return false }
        try await remote.createFolder(key)
        return true
    }

    /// Whether the content of another folder lies beside a place, without the folder, where the content of a folder is to lie. It stays: another
    /// machine has written it.
    func hasContentOfOthers(at key: RemoteKey, _ row: RemoteNode.Row?) async throws -> Bool {
        guard let row, row.marks.contains(Sidecar.content),
            let there = try await remote.head(key.sidecar(Sidecar.content)), try await isFree(key)
        else { return false }
        return try await !isVersion(there, of: row)
    }

    /// Whether there is neither a file nor a folder.
    private func isFree(_ key: RemoteKey) async throws -> Bool {
        guard try await remote.head(key) == nil else { return false }
        // Without folders, a folder is there if anything lies below it.
        if try await remote.capabilities().hasFolders { return true }
        let beside = try await remote.everything(in: key.parent ?? .root)
        guard beside.allSatisfy({ $0.key != key }) else { return false }
        return try await remote.everything(in: key).isEmpty
    }

    /// Moves what lies beside a file or a folder once that has been moved. What an earlier attempt has moved is not
    /// there any more.
    ///
    /// - Returns: what lies there now, by marks, as far as it is of the versions that are known.
    func carrySidecars(
        of row: RemoteNode.Row?,
        from source: RemoteKey,
        to destination: RemoteKey
    ) async throws -> [String: RemoteObject] {
        guard let row else { return [:] }
        let capabilities = try await remote.capabilities()
        var carried: [String: RemoteObject] = [:]
        for mark in row.marks {
            let (from, to) = (source.sidecar(mark), destination.sidecar(mark))
            guard let there = try await remote.head(from), !there.isFolder else { continue }
            do { _ = try await carryOne(from, to: to, isFolder: false, capabilities) } catch let error as RemoteError
                where error.code == .conditionFailed || error.code == .occupied || error.code == .notFound
            {
                // Another machine has written it at the new place, or deleted it. The pull finds that.
                continue
            }
            if ETag.isSame(there.eTag, row.eTag(ofMark: mark)?.stored) { carried[mark] = try await remote.head(to) }
        }
        return carried
    }

    /// Copies the sidecars of a file or a folder, except records: the known versions, or else the current ones.
    ///
    /// - Returns: the copies by marks, and whether they are of the versions that are known.
    ///
    /// - Parameter isFolder: whether the copy is one. The content of a file is not a sidecar.
    func duplicateSidecars(
        of row: RemoteNode.Row,
        at source: RemoteKey,
        to destination: RemoteKey,
        isFolder: Bool
    ) async throws -> [String: SidecarCopy] {
        let capabilities = try await remote.capabilities()
        var copies: [String: SidecarCopy] = [:]
        for mark in row.marks where mark != Sidecar.record && (isFolder || mark != Sidecar.content) {
            let (from, to) = (source.sidecar(mark), destination.sidecar(mark))
            // An upload without an answer may have arrived or not: any version is copied.
            let isSent = Sidecar.section(of: mark).map { !row.sentPrints(of: $0).isEmpty } ?? false
            let version = isSent ? nil : row.eTag(ofMark: mark)
            do {
                let copy = try await duplicate(from, to: to, version: version, capabilities)
                copies[mark] = SidecarCopy(object: copy, isKnown: version != nil)
            } catch let error as RemoteError where error.code == .notFound {
                // Another machine has deleted it.
            } catch let error as RemoteError where error.code == .conditionFailed {
                // Another machine has written it beside the new copy. The pull finds that.
                if try await remote.head(to) != nil { continue }
                let copy = try await duplicate(from, to: to, version: nil, capabilities)
                copies[mark] = SidecarCopy(object: copy, isKnown: false)
            }
        }
        return copies
    }

    /// Copies what lies beside a folder to beside its copy.
    func copySidecars(
        of source: (key: RemoteKey, row: RemoteNode.Row),
        to key: RemoteKey,
        _ work: CloudWork,
        _ attempt: Attempt<CloudWork>
    ) async throws -> Outcome {
        let facts = facts
        let copies = try await duplicateSidecars(of: source.row, at: source.key, to: key, isFolder: true)
        var content: (object: RemoteObject, print: String?, seal: KnownSeal?)?
        if !source.row.isFolder {
            // The source was to become a folder, and was deleted before.
            let capabilities = try await remote.capabilities()
            do {
                let place = key.sidecar(Sidecar.content)
                content = try await duplicate(source.row, at: source.key, to: place, capabilities)
            } catch let error as RemoteError where error.code == .notFound {
                // Another machine has deleted it.
                return try await sendContent(attempt)
            } catch let error as RemoteError where error.code == .conditionFailed {
                // Another machine has written the content of the copy. The pull finds that.
            }
        }
        return .done { [content] context in
            let copy = try CloudContext(context, facts).remoteForSending(work)
            copy.note(copied: copies, of: source.row)
            if let content { copy.note(content.object, .data, content.print, content.seal) }
        }
    }
}

/// A copy of what lies beside a node.
struct SidecarCopy: Sendable {
    let object: RemoteObject
    /// Whether it is a copy of the version that was known.
    let isKnown: Bool
}

extension RemoteNode {
    /// Takes over the versions of sidecars that were copied from another node.
    func note(copied copies: [String: SidecarCopy], of source: RemoteNode.Row) {
        for (mark, copy) in copies {
            if mark == Sidecar.content {
                let (print, seal) = copy.isKnown ? (source.contentPrint, source.knownSeal) : (nil, nil)
                note(copy.object, .data, print, seal)
            } else {
                setETag(copy.object.eTag, ofMark: mark)
            }
        }
    }
}
