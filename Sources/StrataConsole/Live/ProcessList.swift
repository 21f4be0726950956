import Foundation
import StrataInspection
import Synchronization

/// The processes that have the store open. A search examines all processes of the system, so the requests of some
/// seconds share one.
final class ProcessList: Sendable {
    private struct Search: Sendable {
        let start: ContinuousClock.Instant
        let result: Task<StoreProcesses?, Never>
    }

    /// How long a search is shared.
    private static let lifetime = Duration.seconds(5)

    private let path: String
    private let newest = Mutex<Search?>(nil)

    init(of path: String) { self.path = path }

    /// The processes without this one; nil if the system does not tell.
    func current() async -> StoreProcesses? {
        let path = path
        let search = newest.withLock { newest -> Search in
            if let newest, newest.start.duration(to: .now) < Self.lifetime { return newest }
            let search = Search(start: .now, result: Task.detached { await Self.search(path) })
            newest = search
            return search
        }
        return await search.result.value
    }

    private static func search(_ path: String) async -> StoreProcesses? {
        await withCheckedContinuation { (continuation: CheckedContinuation<StoreProcesses?, Never>) in
            // The search may wait for the file system, so it uses a separate thread.
            DispatchQueue.global().async { @Sendable in continuation.resume(returning: StoreProcesses(of: path)) }
        }
    }
}
