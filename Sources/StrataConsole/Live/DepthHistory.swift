import Foundation
import Synchronization

/// The number of queued operations over time, as far as the console has sampled it. The newest samples are kept.
final class DepthHistory: Sendable {
    struct Sample: Sendable, Equatable {
        let time: Date
        /// The number of operations that do not run.
        let queued: Int
        let running: Int
    }

    private let capacity: Int
    private let samples = Mutex<[Sample]>([])

    /// - Parameter capacity: the greatest number of samples. With the interval of ``DepthSampler``, the default is an
    ///   hour.
    init(capacity: Int = 120) { self.capacity = max(capacity, 1) }

    /// Adds a sample. The oldest one is dropped if there are too many.
    func add(_ sample: Sample) {
        samples.withLock { samples in
            if samples.count >= capacity { samples.removeFirst(samples.count - capacity + 1) }
            samples.append(sample)
        }
    }

    /// The samples, oldest first.
    var all: [Sample] { samples.withLock { $0 } }
}
