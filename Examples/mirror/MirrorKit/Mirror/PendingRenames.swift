import Strata
import Synchronization

/// The files and folders that must get another name, because another client has created or changed an item with their
/// name. The tree contains the new name first. The user is informed once the local item has it.
final class PendingRenames: Sendable {
    private let entries = Mutex<Set<ObjectID<MirrorEntry>>>([])

    /// Adds an entry, within the commit that renames its node.
    func insert(_ entry: ObjectID<MirrorEntry>) { entries.withLock { _ = $0.insert(entry) } }

    /// Removes an entry, because it has its new name or no longer needs one.
    ///
    /// - Returns: whether the entry was in the set.
    @discardableResult
    func remove(_ entry: ObjectID<MirrorEntry>) -> Bool { entries.withLock { $0.remove(entry) != nil } }
}
