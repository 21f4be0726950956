import Strata

/// The state of an object that a listing does not show.
enum Absence: Sendable {
    /// The remote does not have the object, and has shown it since this machine last sent it. Another machine has
    /// deleted or moved it.
    case proven
    /// The remote does not have the object, and has never shown it since this machine last sent it. The object was
    /// lost, or was deleted at once.
    case unproven
    /// The remote has the object, but no listing has shown it since this machine last sent it. The listing is late, or
    /// never shows such names.
    case unlisted
    /// The remote has the object again, since the listing was read.
    case back
}

/// Requests every object that a listing lacks, before a pull treats the object as deleted.
///
/// Listings are unreliable in many ways. They show new objects seconds late, hide names that begin with a dot, are
/// truncated, or are empty once. A request for the object itself does not have these faults.
struct AbsenceCheck: Sendable {
    let remote: any Remote
    let known: LastSyncedTree
    let hasFolders: Bool

    /// The number of concurrent requests.
    private static let width = 8

    /// Checks rows that the listing lacks.
    ///
    /// - Parameters:
    ///   - numbers: the rows.
    ///   - isCounted: whether the removal of a row counts against the limit.
    ///   - isEnough: called before each group of requests with the number of removals so far. If it returns true, no
    ///     more requests are made.
    /// - Returns: the state of each checked row.
    /// - Throws: `RemoteError` with `inconsistentListing` if a listing lacks an object that it has shown before and
    ///   the remote still has; errors of the remote.
    /// - Complexity: one request for each file, and for each folder of a remote that has folders. A deleted folder
    ///   needs no requests for its content.
    func run(
        _ numbers: [Int64],
        isCounted: (Int64) -> Bool,
        isEnough: (_ removals: Int) -> Bool
    ) async throws -> [Int64: Absence] {
        var results: [Int64: Absence] = [:]
        var removals = 0
        func record(_ absence: Absence, _ number: Int64) {
            results[number] = absence
            if absence == .proven, isCounted(number) { removals += 1 }
        }
        // Folders come before their content.
        let rows = numbers.compactMap { number in
            known.key(of: number).flatMap { key in known.rows[number].map { (number, key, $0) } }
        }.sorted { $0.1.segments.count < $1.1.segments.count }
        var folders: [RemoteKey: Absence] = [:]
        var waiting: [(Int64, RemoteKey, RemoteNode.Row)] = []
        for (number, key, row) in rows {
            if let absence = key.parent.flatMap({ folders[$0] }) {
                // If a folder is deleted, or no listing shows it, its content has the folder's state.
                record(absence.ofContent(isListed: row.isListed || row.isFolder), number)
                if row.isFolder { folders[key] = absence }
            } else if row.isFolder {
                guard hasFolders || row.eTag != nil else {
                    record(.proven, number)
                    continue
                }
                let absence = try await absence(of: key, row)
                record(absence, number)
                // At a remote without folders, each object below the folder exists independently.
                if hasFolders { folders[key] = absence }
            } else {
                waiting.append((number, key, row))
            }
        }
        while !waiting.isEmpty, !isEnough(removals) {
            try Task.checkCancellation()
            let group = waiting.suffix(Self.width)
            waiting.removeLast(group.count)
            try await withThrowingTaskGroup(of: (Int64, Absence).self) { tasks in
                for (number, key, row) in group { tasks.addTask { (number, try await absence(of: key, row)) } }
                for try await (number, absence) in tasks { record(absence, number) }
            }
        }
        return results
    }

    private func absence(of key: RemoteKey, _ row: RemoteNode.Row) async throws -> Absence {
        guard let there = try await object(at: key, row) else {
            // A folder without content has no data to lose. The objects in the folder are checked separately.
            return row.isListed || row.isFolder && row.eTag == nil ? .proven : .unproven
        }
        guard row.isListed else { return .unlisted }
        // The object may have been written after the listing was read. A second listing shows it in this case.
        if let folder = key.parent {
            let again = try await remote.everything(in: folder)
            if again.contains(where: { $0.location == there.location }) { return .back }
        }
        throw RemoteError(
            .inconsistentListing,
            "\(remote.name) does not list \(key) any more, but still has it. No file was removed here. Pull again "
                + "later; if the error stays, the server's listings are incomplete.",
            key: key
        )
    }

    /// The file or folder at a key; for a folder that is not found, its content.
    private func object(at key: RemoteKey, _ row: RemoteNode.Row) async throws -> RemoteObject? {
        if hasFolders || !row.isFolder, let there = try await remote.head(key) {
            return there.isFolder == row.isFolder ? there : nil
        }
        guard row.isFolder, row.eTag != nil else { return nil }
        return try await remote.head(key.sidecar(Sidecar.content))
    }
}

extension Absence {
    /// The state of an object in a folder with this state.
    fileprivate func ofContent(isListed: Bool) -> Absence {
        switch self {
        case .proven, .unproven: isListed ? .proven : .unproven
        case .unlisted, .back: self
        }
    }
}
