import Strata

/// The steps that bring the local tree up to date with the remote.
struct PullPlan: Sendable {
    enum Step: Sendable {
        /// The remote has an object that is not known.
        case add(RemoteObject)
        /// A known object, or its metadata or thumbnail, has another version.
        case update(Int64, RemoteObject)
        /// A known object has moved.
        case move(Int64, RemoteObject)
        /// A known file is now a folder with content.
        case convert(Int64, RemoteObject)
        /// A known object does not have a local node.
        case forget(Int64)
        /// A known object is missing.
        case remove(Int64)
        /// A known object is missing, and no listing has shown it since it was sent. It is sent again.
        case restore(Int64)
        /// A known object is listed as it was sent.
        case list(Int64)
    }

    var steps: [Step] = []
    /// The number of objects that the remote has but does not list.
    var unlisted = 0
    /// The number of steps left to the next pull, because the remote changed while it was read.
    var deferred = 0

    init(_ tree: RemoteTree, _ known: LastSyncedTree) {
        // A file at the key of a known folder is a different object.
        let matching = tree.objects.filter { known[$0.location] != nil }
        let there = Set(matching.map(\.location))
        var missing = known.rows.values.filter { row in
            guard row.parent != nil, row.isCertain, let key = known.key(of: row.id.rawValue),
                !there.contains(RemoteLocation(key: key, isFolder: row.isFolder))
            else { return false }
            // If a folder is missing, all its content is missing. If a folder could not be listed completely, its
            // missing content proves nothing.
            var folder = key.parent
            while let next = folder, next.segments.count > 1,
                !there.contains(RemoteLocation(key: next, isFolder: true))
            { folder = next.parent }
            return folder.map { tree.complete.contains($0) } ?? false
        }
        var added = tree.objects.filter { !there.contains($0.location) && known[$0]?.isCertain != false }
        let converted = added.filter { $0.isFolder && tree.content(of: $0) != nil }
            .compactMap { folder in
                known[RemoteLocation(key: folder.key, isFolder: false)].map { (number: $0.id.rawValue, folder: folder) }
            }
            .filter { entry in missing.contains { $0.id.rawValue == entry.number } }
        let (files, folders) = (Set(converted.map(\.number)), Set(converted.map(\.folder.location)))
        missing.removeAll { files.contains($0.id.rawValue) }
        added.removeAll { folders.contains($0.location) }
        // A missing object whose key is now occupied counts as deleted, not as moved. Its possible new place may be
        // inside the object that now has its old key.
        let places = Set(added.map(\.key))
        let moves = Self.moves(
            missing.filter { row in !(known.key(of: row.id.rawValue).map(places.contains) ?? false) },
            added,
            tree
        )
        for object in matching {
            guard let row = known[object.location], row.isCertain else { continue }
            if row.node == nil {
                steps.append(.forget(row.id.rawValue))
                continue
            }
            if Self.isChanged(row, object, tree.sidecars(of: object)) {
                steps.append(.update(row.id.rawValue, object))
            } else if !row.isListed {
                steps.append(.list(row.id.rawValue))
            }
        }
        // The conversion runs before the steps that add objects to these folders.
        for (number, folder) in converted { steps.append(.convert(number, folder)) }
        for object in added {
            if let number = moves[object.location] {
                steps.append(.move(number, object))
            } else {
                steps.append(.add(object))
            }
        }
        // Deeper objects are removed first.
        let moved = Set(moves.values)
        var gone: [(number: Int64, depth: Int)] = []
        for row in missing where !moved.contains(row.id.rawValue) {
            gone.append((row.id.rawValue, known.key(of: row.id.rawValue)?.segments.count ?? 0))
        }
        gone.sort { $0.depth > $1.depth }
        for (number, _) in gone { steps.append(.remove(number)) }
    }

    static func isChanged(_ row: RemoteNode.Row, _ object: RemoteObject, _ sidecars: [UTF8Text: RemoteObject])
        -> Bool
    {
        if row.differs(from: sidecars) { return true }
        guard !object.isFolder else { return false }
        // Two objects without versions are not necessarily equal, so the sizes are compared.
        if object.eTag == nil, row.eTag == nil, object.size != row.size { return true }
        return !ETag.isSame(object.eTag, row.eTag)
    }

    /// The moved files and folders with content: each one is missing at one place and exists at another with the same
    /// version and content size. A pair counts only if it is unambiguous.
    private static func moves(
        _ missing: [RemoteNode.Row],
        _ added: [RemoteObject],
        _ tree: RemoteTree
    ) -> [RemoteLocation: Int64] {
        struct Version: Hashable {
            let isFolder: Bool
            let eTag: UTF8Text
            let size: Int64
        }
        var gone: [Version: [Int64]] = [:]
        for row in missing {
            guard let eTag = row.eTag, let size = row.size, size > 0 else { continue }
            // A version that is made only of size and time does not identify a file, because other files may have the
            // same one.
            if ETag(stored: eTag).isOfLastResort { continue }
            let version = Version(isFolder: row.isFolder, eTag: UTF8Text(ETag(stored: eTag).value), size: size)
            gone[version, default: []].append(row.id.rawValue)
        }
        var new: [Version: [RemoteLocation]] = [:]
        for object in added {
            guard let content = tree.content(of: object), let eTag = content.eTag, let size = content.size else {
                continue
            }
            let version = Version(isFolder: object.isFolder, eTag: UTF8Text(eTag.value), size: size)
            new[version, default: []].append(object.location)
        }
        var moves: [RemoteLocation: Int64] = [:]
        for (version, numbers) in gone where numbers.count == 1 {
            if let places = new[version], places.count == 1 { moves[places[0]] = numbers[0] }
        }
        return moves
    }
}
