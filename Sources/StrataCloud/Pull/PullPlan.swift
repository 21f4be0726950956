import Strata

/// What is to be done so that the tree here knows what lies at the remote.
struct PullPlan: Sendable {
    enum Step: Sendable {
        /// Something is there that is not known.
        case add(RemoteObject)
        /// What is known is of another version, or what goes with it.
        case update(Int64, RemoteObject)
        /// What is known lies somewhere else.
        case move(Int64, RemoteObject)
        /// What is known is not there.
        case remove(Int64)
    }

    private(set) var steps: [Step] = []

    init(_ tree: RemoteTree, _ known: KnownTree) {
        var known = known
        let paths = Set(tree.objects.map(\.key.path))
        var missing: [RemoteNode.Row] = []
        for row in known.rows.values where row.parent != nil && row.isCertain {
            let path = known.path(of: row)
            guard !paths.contains(path) else { continue }
            // Of a folder that is gone everything is; one that could not be looked through says nothing.
            var folder = path[...]
            repeat {
                guard let slash = folder.lastIndex(of: "/") else { break }
                folder = folder[..<slash]
            } while folder.contains("/") && !paths.contains(String(folder))
            if tree.complete.contains(String(folder)) { missing.append(row) }
        }
        let added = tree.objects.filter { known[$0.key.path] == nil }
        let moves = Self.moves(missing, added)
        var moved: Set<Int64> = []
        for object in tree.objects {
            if let row = known[object.key.path] {
                guard row.isFolder == object.isFolder, row.isCertain else { continue }
                if Self.isChanged(row, object, tree.sidecars[object.key.path] ?? [:]) {
                    steps.append(.update(row.id.number, object))
                }
            } else if let number = moves[object.key.path] {
                moved.insert(number)
                steps.append(.move(number, object))
            } else {
                steps.append(.add(object))
            }
        }
        // What lies deeper first.
        let gone = missing.filter { !moved.contains($0.id.number) }.map { (known.path(of: $0), $0.id.number) }
        steps += gone.sorted { $0.0 > $1.0 }.map { .remove($0.1) }
    }

    private static func isChanged(_ row: RemoteNode.Row, _ object: RemoteObject, _ sidecars: [String: RemoteObject])
        -> Bool
    {
        guard !object.isFolder else { return false }
        return object.eTag?.stored != row.eTag || sidecars[Sidecar.metadata]?.eTag?.stored != row.metadataETag
            || sidecars[Sidecar.thumbnail]?.eTag?.stored != row.thumbnailETag
    }

    /// Files that are gone at one place and are there at another, with the same version and size, and nothing else that could be meant.
    private static func moves(_ missing: [RemoteNode.Row], _ added: [RemoteObject]) -> [String: Int64] {
        struct Version: Hashable {
            let eTag: String
            let size: Int64
        }
        var gone: [Version: [Int64]] = [:]
        for row in missing where !row.isFolder {
            guard let eTag = row.eTag, let size = row.size, size > 0 else { continue }
            gone[Version(eTag: eTag, size: size), default: []].append(row.id.number)
        }
        var new: [Version: [String]] = [:]
        for object in added where !object.isFolder {
            guard let eTag = object.eTag, let size = object.size else { continue }
            new[Version(eTag: eTag.stored, size: size), default: []].append(object.key.path)
        }
        var moves: [String: Int64] = [:]
        for (version, numbers) in gone where numbers.count == 1 {
            if let paths = new[version], paths.count == 1 { moves[paths[0]] = numbers[0] }
        }
        return moves
    }
}
