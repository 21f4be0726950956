import Metrics
import Synchronization

/// A metrics backend that keeps its values in memory, and writes them in the text format of Prometheus.
///
/// The number of series has a limit, because a series stays until the process ends. Further series share one object
/// that is not written.
final class PrometheusMetrics: MetricsFactory {
    private struct Key: Hashable {
        let name: String
        let kind: MetricSeries.Kind
        let labels: String
    }

    private let series = Mutex<[Key: MetricSeries]>([:])
    private let limit: Int
    private let overflow = MetricSeries(.gauge)

    /// - Parameter limit: the greatest number of series.
    init(limit: Int = 5000) { self.limit = limit }

    private func find(
        _ label: String,
        _ dimensions: [(String, String)],
        _ kind: MetricSeries.Kind
    ) -> MetricSeries {
        let key = Key(name: Self.name(label) + kind.suffix, kind: kind, labels: Self.labels(dimensions))
        return series.withLock { series in
            if let known = series[key] { return known }
            guard series.count < limit else { return overflow }
            let new = MetricSeries(kind)
            series[key] = new
            return new
        }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        find(label, dimensions, .counter)
    }

    func makeFloatingPointCounter(label: String, dimensions: [(String, String)]) -> any FloatingPointCounterHandler {
        find(label, dimensions, .counter)
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        find(label, dimensions, .gauge)
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        find(label, dimensions, aggregate ? .summary : .gauge)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        find(label, dimensions, .histogram)
    }

    // A series of equal labels may have several owners, so it outlives each of them.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    /// All series, sorted by name and labels.
    func text() -> String {
        let all = series.withLock { $0 }.sorted {
            ($0.key.name, $0.key.kind.rawValue, $0.key.labels) < ($1.key.name, $1.key.kind.rawValue, $1.key.labels)
        }
        var text = ""
        var last: String?
        for (key, series) in all {
            let lines = series.lines(name: key.name, labels: key.labels)
            if lines.isEmpty { continue }
            if key.name != last { text += "# TYPE \(key.name) \(key.kind.rawValue)\n" }
            last = key.name
            for line in lines { text += line + "\n" }
        }
        return text
    }

    /// A name with the letters that Prometheus allows.
    private static func name(_ label: String) -> String {
        let letters = label.unicodeScalars.map { scalar -> Character in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "_": Character(scalar)
            default: "_"
            }
        }
        return letters.first?.isNumber == true ? "_" + String(letters) : String(letters)
    }

    private static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.map { label, value in "\(name(label))=\"\(escaped(value))\"" }.joined(separator: ",")
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}

/// The values of one metric with one set of labels.
final class MetricSeries: CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    enum Kind: String, Hashable, Sendable {
        case counter, gauge, summary, histogram

        /// The end of the names of such metrics.
        var suffix: String {
            switch self {
            case .counter: "_total"
            case .gauge, .summary: ""
            case .histogram: "_seconds"
            }
        }
    }

    private struct Values {
        var value = 0.0
        /// The number of increments, records or durations.
        var count = 0
        var sum = 0.0
        /// The number of durations in each bucket, without those of smaller buckets.
        var buckets = [Int](repeating: 0, count: MetricSeries.bounds.count)
    }

    /// The upper bounds of the buckets of histograms, in seconds.
    private static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    private let kind: Kind
    private let values = Mutex(Values())

    init(_ kind: Kind) { self.kind = kind }

    func increment(by amount: Int64) { increment(by: Double(amount)) }

    func increment(by amount: Double) {
        values.withLock { values in
            values.value += amount
            values.count += 1
        }
    }

    func decrement(by amount: Double) { values.withLock { $0.value -= amount } }
    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { values.withLock { $0.value = value } }
    func reset() { values.withLock { $0 = Values() } }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        values.withLock { values in
            values.value = value
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

    /// The lines of this series.
    ///
    /// - Parameter labels: the labels as text, without braces.
    func lines(name: String, labels: String) -> [String] {
        let values = values.withLock { $0 }
        let braces = labels.isEmpty ? "" : "{\(labels)}"
        switch kind {
        // Hummingbird makes a counter of errors for each answer, also for those without an error.
        case .counter where values.count == 0: return []
        case .counter, .gauge: return ["\(name)\(braces) \(Self.text(values.value))"]
        case .summary: return sums(values, name, braces)
        case .histogram:
            var total = 0
            let separator = labels.isEmpty ? "" : ","
            let buckets = zip(Self.bounds, values.buckets).map { bound, count in
                total += count
                return "\(name)_bucket{\(labels)\(separator)le=\"\(Self.text(bound))\"} \(total)"
            }
            let all = "\(name)_bucket{\(labels)\(separator)le=\"+Inf\"} \(values.count)"
            return buckets + [all] + sums(values, name, braces)
        }
    }

    private func sums(_ values: Values, _ name: String, _ braces: String) -> [String] {
        ["\(name)_sum\(braces) \(Self.text(values.sum))", "\(name)_count\(braces) \(values.count)"]
    }

    /// A number without a fraction if it does not have one.
    private static func text(_ value: Double) -> String { Int64(exactly: value).map { String($0) } ?? "\(value)" }
}
