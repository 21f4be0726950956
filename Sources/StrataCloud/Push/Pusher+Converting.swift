import Strata
import StrataPipeline

/// Makes folders, also of files, and of content that has lost its folder.
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
        var print = file.contentPrint
        if !isSame, let there = moved {
            print = try await sentPrint(of: there, file.prints)
            if print == nil { moved = nil }
        }
        try await intend(work) { [moved, print] remote, _ in
            let seal = print == file.contentPrint ? file.knownSeal : nil
            (remote.isFolder, remote.isConverting, remote.isCertain, remote.isListed) = (true, false, true, false)
            if let moved { remote.note(moved, .data, print, seal) }
        }
        return .postpone(for: .zero)
    }

    /// Which of the contents that were sent an object has; nil for none of them.
    private func sentPrint(of object: RemoteObject, _ prints: [ContentPrint]) async throws -> String? {
        for print in prints where try await isOwn(object, print) { return print.text }
        return nil
    }

    /// Whether an object has the known version of a file, or is an upload of it that the remote has not acknowledged.
    func isVersion(_ object: RemoteObject, of file: RemoteNode.Row) async throws -> Bool {
        if file.isCertain, ETag.isSame(object.eTag, file.eTag) { return true }
        return try await isOwn(object, anyOf: file.prints)
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
}
