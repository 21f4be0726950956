import Strata

/// The state of an object that a listing does not show.
enum Absence: Sendable {
    /// The remote does not have it, and has shown it since it was last sent from here: another machine has deleted or moved it.
    case proven
    /// The remote does not have it, and has never shown it since it was last sent from here: it was lost, or deleted at once.
    case unproven
    /// The remote has it, and no listing has shown it since it was last sent from here: the listing is late, or never shows such names.
    case unlisted
    /// The remote has it again, since the listing was read.
    case back
}

/// Asks the remote for everything that its listing does not show, before a pull takes that for gone.
///
/// Listings lie in many ways: they show new objects seconds late, hide names that begin with a dot, are cut short, or are empty once. A request for
/// the object itself does not share these faults.
struct AbsenceCheck: Sendable {
    let remote: any Remote
    let known: KnownTree
    let hasFolders: Bool

    /// How many requests run at once.
    private static let width = 8

    /// Looks for rows that the listing lacks.
    ///
    /// - Parameters:
    ///   - numbers: the rows.
    ///   - isCounted: whether a row that is gone counts as a removal.
    ///   - isEnough: called before each group of requests with the number of removals so far. No more requests are made when it returns true.
    /// - Returns: the state of each row that was looked at.
    /// - Throws: ``RemoteError`` with `inconsistentListing` if a listing lacks what it has shown before and the remote still has; what the remote reports.
    /// - Complexity: a request for each file, and for each folder of a remote that has folders. A folder that is gone takes what lies in it along.
    func run(
        _ numbers: [Int64],
        isCounted: (Int64) -> Bool,
        isEnough: (_ removals: Int) -> Bool
    ) async throws -> [Int64: Absence] {
        var results: [Int64: Absence] = [:]
        var removals = 0
        func note(_ absence: Absence, _ number: Int64) {
            results[number] = absence
            if absence == .proven, isCounted(number) { removals += 1 }
        }
        // Folders come before what lies in them.
        let rows = numbers.compactMap { number in
            known.key(of: number).flatMap { key in known.rows[number].map { (number, key, $0) } }
        }.sorted { $0.1.segments.count < $1.1.segments.count }
        var folders: [RemoteKey: Absence] = [:]
        var waiting: [(Int64, RemoteKey, RemoteNode.Row)] = []
        for (number, key, row) in rows {
            if let absence = key.parent.flatMap({ folders[$0] }) {
                // The content of a folder that is gone, or that no listing shows, has the state of the folder.
                note(absence.ofContent(isListed: row.isListed || row.isFolder), number)
                if row.isFolder { folders[key] = absence }
            } else if row.isFolder {
                guard hasFolders || row.eTag != nil else {
                    note(.proven, number)
                    continue
                }
                let absence = try await absence(of: key, row)
                note(absence, number)
                // Without folders, what lies below it is there or not by itself.
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
                for try await (number, absence) in tasks { note(absence, number) }
            }
        }
        return results
    }

    private func absence(of key: RemoteKey, _ row: RemoteNode.Row) async throws -> Absence {
        guard let there = try await object(at: key, row) else {
            // A folder without content holds nothing that could be lost with it. What lies in it is looked at by itself.
            return row.isListed || row.isFolder && row.eTag == nil ? .proven : .unproven
        }
        guard row.isListed else { return .unlisted }
        // It may have been written since the listing was read: a second listing shows it then.
        if let folder = key.parent {
            let again = try await remote.everything(in: folder)
            if again.contains(where: { $0.place == there.place }) { return .back }
        }
        throw RemoteError(
            .inconsistentListing,
            "\(remote.name) does not list \(key) any more, but still has it. No file was removed here. Pull again later; if this stays, the server's listings are incomplete.",
            key: key
        )
    }

    /// A file, or a folder, or else the content of a folder.
    private func object(at key: RemoteKey, _ row: RemoteNode.Row) async throws -> RemoteObject? {
        if hasFolders || !row.isFolder, let there = try await remote.head(key) {
            return there.isFolder == row.isFolder ? there : nil
        }
        guard row.isFolder, row.eTag != nil else { return nil }
        return try await remote.head(key.sidecar(Sidecar.content))
    }
}

extension Absence {
    /// The state of an object in a folder of this state.
    fileprivate func ofContent(isListed: Bool) -> Absence {
        switch self {
        case .proven, .unproven: isListed ? .proven : .unproven
        case .unlisted, .back: self
        }
    }
}
