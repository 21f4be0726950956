import Strata

/// The objects that a pull has found at a remote.
struct RemoteTree: Sendable {
    /// All objects except sidecars, folders before their content.
    private(set) var objects: [RemoteObject] = []
    /// The places of these objects.
    private(set) var places: Set<RemoteLocation> = []
    /// The sidecars, by the key of their object and by mark.
    private(set) var sidecars: [RemoteKey: [UTF8Text: RemoteObject]] = [:]
    /// The keys that do not represent a valid name. They and everything below them are left out.
    private(set) var unreadable: Set<RemoteKey> = []
    /// The folders whose content was found completely.
    private(set) var complete: Set<RemoteKey> = []

    /// Lists a remote folder by folder.
    ///
    /// - Parameter isKnown: whether any object below a trunk is known.
    static func find(in remote: any Remote, isKnown: (Trunk) -> Bool) async throws -> RemoteTree {
        var tree = RemoteTree()
        for trunk in Trunk.allCases where trunk != .detached {
            let key = RemoteKey([trunk.rawValue])
            do {
                try await tree.add(key, in: remote)
                if isKnown(trunk) { try await tree.checkNotVanished(trunk, remote) }
            } catch let error as RemoteError where error.code == .notFound {
                guard !isKnown(trunk) else { throw vanished(remote, trunk) }
                tree.complete.insert(key)
            }
        }
        tree.addFoldersOfContent()
        return tree
    }

    private init() {}

    /// Adds the folders of which only the content exists. Another machine is converting a file to a folder and has
    /// already moved the content. The file is not deleted.
    private mutating func addFoldersOfContent() {
        for (key, marks) in sidecars where marks[UTF8Text(Sidecar.content)] != nil {
            let folder = RemoteObject(key: key, isFolder: true)
            if places.contains(folder.location) || places.contains(RemoteLocation(key: key, isFolder: false)) {
                continue
            }
            objects.append(folder)
            places.insert(folder.location)
            complete.insert(key)
        }
    }

    /// The content of a file, or of a folder that has content.
    func content(of object: RemoteObject) -> RemoteObject? {
        object.isFolder ? sidecars[object.key]?[UTF8Text(Sidecar.content)] : object
    }

    /// Checks that a trunk with known objects still exists. A folder that is not mounted must not look like a folder
    /// that another machine has emptied.
    private func checkNotVanished(_ trunk: Trunk, _ remote: any Remote) async throws {
        let key = RemoteKey([trunk.rawValue])
        if objects.contains(where: { $0.key.isWithin(key) }) { return }
        if try await remote.head(key) != nil { return }
        // At a remote whose folders are only key prefixes, the marker object of an empty folder appears in the listing
        // of its parent.
        if try await remote.everything(in: .root).contains(where: { $0.key == key && $0.isFolder }) { return }
        throw Self.vanished(remote, trunk)
    }

    private static func vanished(_ remote: any Remote, _ trunk: Trunk) -> CloudError {
        CloudError(
            .incompatibleRemote,
            "\(remote.name) no longer has the folder '\(trunk.rawValue)', which had nodes. Nothing was deleted here. "
                + "Check that this is the right remote."
        )
    }

    /// Adds a sidecar that the listing does not show.
    mutating func add(sidecar object: RemoteObject) { add(object) }

    /// - Returns: false for sidecars and unreadable names.
    @discardableResult
    private mutating func add(_ object: RemoteObject) -> Bool {
        guard let (_, mark) = object.key.name, mark.map(Sidecar.all.contains) ?? true else {
            unreadable.insert(object.key)
            return false
        }
        guard let mark else {
            objects.append(object)
            places.insert(object.location)
            return true
        }
        if let base = object.key.withoutMark { sidecars[base, default: [:]][UTF8Text(mark)] = object }
        return false
    }

    private mutating func add(_ top: RemoteKey, in remote: any Remote) async throws {
        var waiting = [top]
        while let folder = waiting.popLast() {
            do {
                let listing = try await remote.wholeListing(of: folder)
                for object in listing.objects where add(object) && object.isFolder { waiting.append(object.key) }
                if listing.isComplete { complete.insert(folder) }
            } catch let error as RemoteError where error.code == .notFound && folder != top {
                // The folder was deleted while it was being listed. The next pull detects the delete.
            }
        }
    }
}

extension RemoteKey {
    /// The key of the object that this sidecar belongs to.
    fileprivate var withoutMark: RemoteKey? {
        guard let last, let mark = name?.mark else { return nil }
        return RemoteKey(escaped: segments.dropLast() + [last.droppingLastBytes(mark.utf8.count + 1)])
    }
}
