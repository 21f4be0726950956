import Metrics
import Testing

@testable import PressKit

@Suite("Metrics in the format of Prometheus") struct MetricsTests {
    @Test("Counters, meters, recorders and timers are written with their labels")
    func kinds() {
        let metrics = PrometheusMetrics()
        let counter = Counter(label: "press.mails", dimensions: [("kind", "a\"b")], factory: metrics)
        counter.increment()
        counter.increment(by: 2)
        let meter = Meter(label: "press.open", dimensions: [], factory: metrics)
        meter.set(1.5)
        let recorder = Recorder(label: "press.sizes", dimensions: [], aggregate: true, factory: metrics)
        recorder.record(3)
        recorder.record(4)
        let timer = Timer(label: "press.time", dimensions: [("route", "/")], factory: metrics)
        timer.recordNanoseconds(3_000_000)
        timer.recordNanoseconds(60_000_000_000)
        let lines = metrics.text().split(separator: "\n").map(String.init)
        #expect(lines.contains("# TYPE press_mails_total counter"))
        #expect(lines.contains("press_mails_total{kind=\"a\\\"b\"} 3"))
        #expect(lines.contains("press_open 1.5"))
        #expect(lines.contains("press_sizes_sum 7"))
        #expect(lines.contains("press_sizes_count 2"))
        #expect(lines.contains("press_time_seconds_bucket{route=\"/\",le=\"0.0025\"} 0"))
        #expect(lines.contains("press_time_seconds_bucket{route=\"/\",le=\"0.005\"} 1"))
        #expect(lines.contains("press_time_seconds_bucket{route=\"/\",le=\"10\"} 1"))
        #expect(lines.contains("press_time_seconds_bucket{route=\"/\",le=\"+Inf\"} 2"))
        #expect(lines.contains("press_time_seconds_count{route=\"/\"} 2"))
    }

    @Test("The number of series has a limit")
    func limit() {
        let metrics = PrometheusMetrics(limit: 3)
        for number in 0..<10 {
            Counter(label: "press.requests", dimensions: [("path", "\(number)")], factory: metrics).increment()
        }
        #expect(metrics.text().split(separator: "\n").count == 4)
    }
}
