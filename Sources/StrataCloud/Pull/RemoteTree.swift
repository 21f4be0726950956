import Strata

/// What lies at a remote, as it was found.
struct RemoteTree: Sendable {
    /// Everything but what goes with other things, by its path, folders before what lies in them.
    private(set) var objects: [RemoteObject] = []
    /// Where these lie.
    private(set) var places: Set<RemotePlace> = []
    /// What goes with an object, by its key and mark.
    private(set) var sidecars: [RemoteKey: [UTF8Text: RemoteObject]] = [:]
    /// What stands for no name, and is left out with all that lies below it.
    private(set) var unreadable: Set<RemoteKey> = []
    /// The folders of which everything was found.
    private(set) var complete: Set<RemoteKey> = []
    /// What the remote has shown of this just now; nil if that is everything.
    private var shown: Set<RemoteKey>?
    /// Whether it was read from listings, or from a feed that gives everything: then an absence is all that says that something is gone.
    var isWhole: Bool { shown == nil }

    /// Walks through a remote, folder by folder.
    ///
    /// - Parameter isKnown: whether anything is known to lie below a trunk.
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

    /// Everything that is there, by its keys.
    ///
    /// - Parameter shown: what of it the remote has shown just now; nil for everything.
    init(_ all: [RemoteKey: RemoteObject], shown: Set<RemoteKey>? = nil) {
        self.shown = shown
        var readable: [RemoteKey: Bool] = [:]
        for (key, object) in all where key.segments.count > 1 && Self.trunks.contains(key.segments[0]) {
            // Folders whose names cannot be read are not looked into, as by listings.
            if key.parent?.isReadableFolder(&readable) ?? false { add(object) }
        }
        addFoldersOfContent()
        objects.sort { $0.key.segments.count < $1.key.segments.count }
        complete = Set(objects.lazy.filter(\.isFolder).map(\.key))
        for trunk in Self.trunks { complete.insert(RemoteKey([trunk])) }
    }

    private init() {}

    /// Adds the folders of which there is only the content: another machine is about to make a folder of a file, and has moved the content. The file
    /// is not gone.
    private mutating func addFoldersOfContent() {
        for (key, marks) in sidecars where marks[UTF8Text(Sidecar.content)] != nil {
            let folder = RemoteObject(key: key, isFolder: true)
            if places.contains(folder.place) || places.contains(RemotePlace(key: key, isFolder: false)) { continue }
            objects.append(folder)
            places.insert(folder.place)
            complete.insert(key)
        }
    }

    /// Whether the remote has shown an object just now, or it was known before.
    func shows(_ object: RemoteObject) -> Bool { shown?.contains(object.key) ?? true }

    /// The content of a file, or of a folder that has any.
    func content(of object: RemoteObject) -> RemoteObject? {
        object.isFolder ? sidecars[object.key]?[UTF8Text(Sidecar.content)] : object
    }

    private static let trunks = Set(Trunk.allCases.filter { $0 != .detached }.map(\.rawValue))

    /// Checks of a trunk in which something is known to lie that it is there: a folder that is not mounted is no folder that somebody has emptied.
    func checkNotVanished(_ trunk: Trunk, _ remote: any Remote) async throws {
        let key = RemoteKey([trunk.rawValue])
        if objects.contains(where: { $0.key.isWithin(key) }) { return }
        if try await remote.head(key) != nil { return }
        // Where keys only have folders in common, the mark of an empty one is found among what lies beside it.
        if try await remote.everything(in: .root).contains(where: { $0.key == key && $0.isFolder }) { return }
        throw Self.vanished(remote, trunk)
    }

    private static func vanished(_ remote: any Remote, _ trunk: Trunk) -> CloudError {
        CloudError(
            .remoteUnfit,
            "\(remote.name) has no '\(trunk.rawValue)' any more, in which there were nodes. Nothing was deleted here: see whether it is the right place."
        )
    }

    /// Adds something that goes with an object, and that the listing does not show.
    mutating func add(sidecar object: RemoteObject) { add(object) }

    /// - Returns: whether it is a thing of its own.
    @discardableResult
    private mutating func add(_ object: RemoteObject) -> Bool {
        guard let (_, mark) = object.key.name, mark.map(Sidecar.all.contains) ?? true else {
            unreadable.insert(object.key)
            return false
        }
        guard let mark else {
            objects.append(object)
            places.insert(object.place)
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
                // It was deleted while it was being looked at. The next pull sees that.
            }
        }
    }
}

extension RemoteKey {
    /// Whether all of its segments, a trunk at their top, stand for names of folders.
    ///
    /// - Parameter known: what is known of that.
    fileprivate func isReadableFolder(_ known: inout [RemoteKey: Bool]) -> Bool {
        guard segments.count > 1, let parent else { return true }
        if let isReadable = known[self] { return isReadable }
        let isReadable = name.map { $0.mark == nil } ?? false && parent.isReadableFolder(&known)
        known[self] = isReadable
        return isReadable
    }

    /// The key of the object that this goes with.
    fileprivate var withoutMark: RemoteKey? {
        guard let last, let mark = name?.mark else { return nil }
        return RemoteKey(escaped: segments.dropLast() + [last.droppingLastBytes(mark.utf8.count + 1)])
    }
}
