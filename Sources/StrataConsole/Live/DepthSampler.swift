import Foundation
import Strata
import StrataPipeline
import Synchronization

/// Samples the number of queued operations while its console exists.
///
/// The task of the sampler does not refer to the sampler, and ends when the sampler is released or the stack is closed.
final class DepthSampler: Sendable {
    /// The time between two samples.
    static let interval = Duration.seconds(30)
    /// A sample counts the entries of an index. Its duration is at most this fraction of the time between two samples.
    private static let share = 20

    private let store: StoreAccess
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ store: StoreAccess) { self.store = store }

    deinit { task.withLock { $0?.cancel() } }

    /// Begins to sample. Further calls do nothing.
    func start() {
        guard store.hasQueues else { return }
        let store = store
        task.withLock { task in
            if task != nil { return }
            // Detached, because the caller may run in a block of the stack, which ends before the samples.
            task = Task.detached { await Self.run(store) }
        }
    }

    private static func run(_ store: StoreAccess) async {
        while !Task.isCancelled {
            let start = ContinuousClock.now
            do {
                try await sample(store)
            } catch let error as StrataError where error.code == .closed {
                return
            } catch {
                // A store that cannot be read now leaves a gap. Pages report the reason.
            }
            let pause = max(interval, start.duration(to: .now) * share)
            do { try await Task.sleep(for: pause) } catch { return }
        }
    }

    /// Takes one sample.
    static func sample(_ store: StoreAccess) async throws {
        let cache = store.figures
        let figures = try await store.read { context in try cache.current(in: context, at: Date()) }
        let totals = figures.totals
        let running = totals[.active] ?? 0
        let queued = totals.values.reduce(0, +) - running
        store.depth.add(DepthHistory.Sample(time: figures.time, queued: queued, running: running))
    }
}
