import Foundation
import StrataInspection
import Synchronization

/// The processes that have the store open. A search examines all processes of the system, so its result is kept for
/// some seconds.
final class ProcessList: Sendable {
    private struct Known: Sendable {
        let time: ContinuousClock.Instant
        let processes: StoreProcesses?
    }

    /// How long a result is kept.
    private static let lifetime = Duration.seconds(5)

    private let path: String
    private let known = Mutex<Known?>(nil)

    init(of path: String) { self.path = path }

    /// The processes without this one; nil if the system does not tell.
    func current() async -> StoreProcesses? {
        let last = known.withLock { $0 }
        if let last, last.time.duration(to: .now) < Self.lifetime { return last.processes }
        let path = path
        let found = await withCheckedContinuation { (continuation: CheckedContinuation<StoreProcesses?, Never>) in
            // The search may wait for the file system, so it uses a separate thread.
            DispatchQueue.global().async { @Sendable in continuation.resume(returning: StoreProcesses(of: path)) }
        }
        known.withLock { $0 = Known(time: .now, processes: found) }
        return found
    }
}
