import Strata
import Synchronization

/// The results of the last actions, which the next page shows.
///
/// A page gets the id of a notice in its query, and not the text, so that a link of another site cannot put words into
/// the console.
final class Notices: Sendable {
    private static let limit = 100

    private let all = Mutex<[(id: String, text: String)]>([])

    /// Keeps a text, and returns its id.
    func add(_ text: String) -> String {
        let id = SecretText.random(byteCount: 8)
        all.withLock { all in
            if all.count == Self.limit { all.removeFirst() }
            all.append((id: id, text: text))
        }
        return id
    }

    func text(_ id: String) -> String? {
        all.withLock { all in all.last { $0.id.hasSameBytes(as: id) }?.text }
    }
}
