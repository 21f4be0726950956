import Strata
import Synchronization

/// Files and folders that are to have another name, since somebody else has made or changed one of theirs. The tree says so first; a person is told
/// when they have it.
final class Partings: Sendable {
    private let entries = Mutex<Set<ObjectID<MirrorEntry>>>([])

    /// Notes one, within the commit that gives its node the other name.
    func note(_ entry: ObjectID<MirrorEntry>) { entries.withLock { _ = $0.insert(entry) } }

    /// Takes one out, since it has its name by now, or needs none.
    ///
    /// - Returns: whether it was one of them.
    @discardableResult
    func take(_ entry: ObjectID<MirrorEntry>) -> Bool { entries.withLock { $0.remove(entry) != nil } }
}
