import Metrics
import Synchronization

/// A metrics backend that keeps its values in memory, as that of press does.
final class MemoryMetrics: MetricsFactory {
    private struct Key: Hashable {
        let label: String
        let dimensions: [String]
    }

    private let series = Mutex<[Key: MemorySeries]>([:])

    private func find(_ label: String, _ dimensions: [(String, String)]) -> MemorySeries {
        let key = Key(label: label, dimensions: dimensions.map { "\($0.0)=\($0.1)" })
        return series.withLock { series in
            if let known = series[key] { return known }
            let new = MemorySeries()
            series[key] = new
            return new
        }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler { find(label, dimensions) }

    func makeFloatingPointCounter(label: String, dimensions: [(String, String)]) -> any FloatingPointCounterHandler {
        find(label, dimensions)
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { find(label, dimensions) }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        find(label, dimensions)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { find(label, dimensions) }

    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
}

/// The values of one metric with one set of dimensions.
final class MemorySeries: CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    private struct Values {
        var value = 0.0
        var count = 0
        var sum = 0.0
        var buckets = [Int](repeating: 0, count: MemorySeries.bounds.count)
    }

    /// The upper bounds of the buckets of durations, in seconds.
    private static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    private let values = Mutex(Values())

    func increment(by amount: Int64) { increment(by: Double(amount)) }
    func increment(by amount: Double) { values.withLock { $0.value += amount } }
    func decrement(by amount: Double) { values.withLock { $0.value -= amount } }
    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { values.withLock { $0.value = value } }
    func reset() { values.withLock { $0 = Values() } }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        values.withLock { values in
            values.count += 1
            values.sum += value
        }
    }

    func recordNanoseconds(_ duration: Int64) {
        let seconds = Double(duration) / 1e9
        values.withLock { values in
            values.count += 1
            values.sum += seconds
            if let index = Self.bounds.firstIndex(where: { seconds <= $0 }) { values.buckets[index] += 1 }
        }
    }
}
