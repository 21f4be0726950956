import Foundation
import Synchronization
import Testing

/// How much memory and how many file descriptors processes have, over time.
final class SoakGauge: Sendable {
    struct Sample {
        let seconds: Double
        let steps: Int
        /// In MB; the tests' own process first, the one that is killed last.
        let memory: [Double]
        let descriptors: [Int]
    }

    private let samples = Mutex<[Sample]>([])

    func measure(_ seconds: Double, _ processes: [Int32], _ steps: Int) {
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

    /// Prints the series, and expects it to be flat.
    ///
    /// The first half of a run is for warming up: caches fill, pools of threads and connections get as large as they will, the
    /// allocator gets its arenas. The medians of the third quarter and of the last are compared, so that single peaks do not count.
    /// In an hour these are a quarter of an hour apart, in which each process makes ten thousands of steps. Had each of them left a
    /// kilobyte behind, the process were some ten megabytes larger.
    func judge() {
        let samples = samples.withLock { $0 }
        for index in stride(from: 0, to: samples.count, by: max(1, samples.count / 30)) {
            let sample = samples[index]
            let memory = sample.memory.map { String(format: "%.1f", $0) }.joined(separator: " ")
            print(
                "soak, \(Int(sample.seconds)) s: \(sample.steps) steps, \(memory) MB, descriptors \(sample.descriptors)"
            )
        }
        // In less than two minutes nothing has come to rest.
        guard let last = samples.last, last.seconds > 120 else { return }
        let quarter = samples.count / 4
        let (third, fourth) = (samples.dropFirst(2 * quarter).prefix(quarter), samples.suffix(quarter))
        // Without the last process, which does not live long.
        for process in last.memory.indices.dropLast() {
            let (before, after) = (median(third.map { $0.memory[process] }), median(fourth.map { $0.memory[process] }))
            #expect(after < before * 1.05 + 2, "process \(process) had \(before) MB, and then \(after)")
            let (few, many) = (
                median(third.map { $0.descriptors[process] }), median(fourth.map { $0.descriptors[process] })
            )
            #expect(many <= few + 2, "process \(process) had \(few) descriptors, and then \(many)")
        }
    }

    private func median<Value: Comparable>(_ values: [Value]) -> Value { values.sorted()[values.count / 2] }
}
