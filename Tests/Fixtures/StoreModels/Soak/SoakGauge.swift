import Foundation
import Synchronization

/// The memory and the number of file descriptors of processes over time.
public final class SoakGauge: Sendable {
    private struct Sample {
        let seconds: Double
        let steps: Int
        /// In MB, by process.
        let memory: [Double]
        let descriptors: [Int]
    }

    private let samples = Mutex<[Sample]>([])

    public init() {}

    /// Measures processes.
    ///
    /// - Parameters:
    ///   - processes: the same ones each time. The last one is killed now and then, and is another one afterwards.
    ///   - seconds: the time since the beginning of the run.
    ///   - steps: the number of steps that the processes have made, for the series.
    public func measure(_ processes: [Int32], after seconds: Double, steps: Int) {
        let sample = Sample(
            seconds: seconds,
            steps: steps,
            memory: processes.map(Self.memory),
            descriptors: processes.map { process in
                (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count) ?? 0
            }
        )
        samples.withLock { $0.append(sample) }
    }

    private static func memory(_ process: Int32) -> Double {
        let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return (line?.split(separator: " ").dropFirst().first).flatMap { Double($0) }.map { $0 / 1024 } ?? 0
    }

    /// Prints the series, which must be flat.
    ///
    /// The first half of a run is for warming up: caches fill, pools of threads and connections reach their full size,
    /// and the allocator gets its arenas. Then the medians of the third and the last quarter are compared, so that
    /// single peaks do not count. In a run of one hour these quarters begin 15 minutes apart, and each process makes
    /// tens of thousands of steps in between. If each step left 1 kB behind, the process would grow by tens of
    /// megabytes.
    ///
    /// - Returns: the processes that have grown.
    public func judge() -> [String] {
        let samples = samples.withLock { $0 }
        for index in stride(from: 0, to: samples.count, by: max(1, samples.count / 30)) {
            let sample = samples[index]
            let memory = sample.memory.map { String(format: "%.1f", $0) }.joined(separator: " ")
            print(
                "soak, \(Int(sample.seconds)) s: \(sample.steps) steps, \(memory) MB, descriptors \(sample.descriptors)"
            )
        }
        // In less than two minutes the values do not become stable.
        guard let last = samples.last, last.seconds > 120 else { return [] }
        let quarter = samples.count / 4
        let (third, fourth) = (samples.dropFirst(2 * quarter).prefix(quarter), samples.suffix(quarter))
        var faults: [String] = []
        // The last process is left out, because it does not live long.
        for process in last.memory.indices.dropLast() {
            let (before, after) = (median(third.map { $0.memory[process] }), median(fourth.map { $0.memory[process] }))
            if after >= before * 1.05 + 2 { faults.append("process \(process) had \(before) MB, and then \(after)") }
            let (few, many) = (
                median(third.map { $0.descriptors[process] }), median(fourth.map { $0.descriptors[process] })
            )
            if many > few + 2 { faults.append("process \(process) had \(few) descriptors, and then \(many)") }
        }
        return faults
    }

    private func median<Value: Comparable>(_ values: [Value]) -> Value { values.sorted()[values.count / 2] }
}
