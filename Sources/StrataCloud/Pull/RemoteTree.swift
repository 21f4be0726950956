import Strata

/// What lies at a remote, as it was found.
struct RemoteTree: Sendable {
    /// Everything but what goes with other things, by its path, folders before what lies in them.
    private(set) var objects: [RemoteObject] = []
    /// What goes with an object, by its key and mark.
    private(set) var sidecars: [RemoteKey: [String: RemoteObject]] = [:]
    /// The folders of which everything was found.
    private(set) var complete: Set<RemoteKey> = []

    /// Walks through a remote, folder by folder.
    ///
    /// - Parameter isKnown: whether anything is known to lie below a trunk.
    static func find(in remote: any Remote, isKnown: (Trunk) -> Bool) async throws -> RemoteTree {
        var tree = RemoteTree()
        for trunk in Trunk.allCases where trunk != .detached {
            let key = RemoteKey([trunk.rawValue])
            do {
                try await tree.add(key, in: remote)
                // A folder that is not mounted is no folder that somebody has emptied.
                if isKnown(trunk), !tree.objects.contains(where: { $0.key.isWithin(key) }),
                    try await remote.head(key) == nil
                {
                    throw vanished(remote, trunk)
                }
            } catch let error as RemoteError where error.code == .notFound {
                guard !isKnown(trunk) else { throw vanished(remote, trunk) }
                tree.complete.insert(key)
            }
        }
        return tree
    }

    private static func vanished(_ remote: any Remote, _ trunk: Trunk) -> CloudError {
        CloudError(
            .remoteUnfit,
            "\(remote.name) has no '\(trunk.rawValue)' any more, in which there were nodes. Nothing was deleted here: see whether it is the right place."
        )
    }

    private mutating func add(_ top: RemoteKey, in remote: any Remote) async throws {
        var waiting = [top]
        while let folder = waiting.popLast() {
            do {
                for object in try await remote.everything(in: folder) {
                    guard let (_, mark) = object.key.name else { continue }
                    if let mark {
                        guard let base = object.key.withoutMark else { continue }
                        sidecars[base, default: [:]][mark] = object
                    } else {
                        objects.append(object)
                        if object.isFolder { waiting.append(object.key) }
                    }
                }
                complete.insert(folder)
            } catch let error as RemoteError where error.code == .notFound && folder != top {
                // It was deleted while it was being looked at. The next pull sees that.
            }
        }
    }
}

extension RemoteKey {
    /// The key of the object that this goes with.
    fileprivate var withoutMark: RemoteKey? {
        guard let last, let mark = name?.mark else { return nil }
        return RemoteKey(escaped: segments.dropLast() + [String(last.dropLast(mark.count + 1))])
    }
}
