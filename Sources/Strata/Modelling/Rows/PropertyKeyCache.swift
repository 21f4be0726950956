import Synchronization

/// The keys that a ``RowCoding`` has computed, by model.
///
/// A coder asks for the keys of its model for each row, and their names do not change.
///
/// Isolation: any.
final class PropertyKeyCache: Sendable {
    private let keys = Mutex<[ObjectIdentifier: [PropertyKey?]]>([:])

    /// The keys of a model, computed at the first request.
    ///
    /// - Throws: the errors of `make`. The next request then computes the keys again.
    func keys(of model: any Model.Type, _ make: () throws -> [PropertyKey?]) throws -> [PropertyKey?] {
        if let known = keys.withLock({ $0[ObjectIdentifier(model)] }) { return known }
        // Not under the lock, since naming the keys runs users' code. If two threads name them at once, both results
        // are equal.
        let made = try make()
        keys.withLock { $0[ObjectIdentifier(model)] = made }
        return made
    }
}
