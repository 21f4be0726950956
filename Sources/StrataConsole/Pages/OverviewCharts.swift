import Foundation
import Strata
import StrataPipeline

/// The charts of the overview.
enum OverviewCharts {
    /// The number of minutes that the charts show.
    static let minutes = 60
    /// The number at which the count of a minute ends.
    static let countLimit = 10_000

    /// The beginning of the first minute of the chart of finished operations. The last minute is the present one.
    static func start(at time: Date) -> Date {
        let minute = (time.timeIntervalSinceReferenceDate / 60).rounded(.down)
        return Date(timeIntervalSinceReferenceDate: (minute - Double(minutes) + 1) * 60)
    }

    /// The finished operations of each minute.
    ///
    /// - Parameters:
    ///   - counts: the number of operations of each minute, at most ``countLimit``.
    ///   - start: the beginning of the first minute.
    static func throughput(_ counts: [Int], from start: Date) -> Chart {
        func minute(_ index: Int) -> Date { start.addingTimeInterval(60 * Double(index)) }
        func text(_ count: Int) -> String { count < countLimit ? "\(count)" : "\(countLimit) or more" }
        var table = Table("Finished operations per minute", ["Minute"], numbers: ["Finished"])
        for (index, count) in counts.enumerated() {
            table.add([.time(minute(index)), count < countLimit ? Cell.number(count) : Cell.text(text(count))])
        }
        let frame = ChartFrame(of: counts)
        let most = counts.indices.max { counts[$0] < counts[$1] }
        let summary: String
        if let most, counts[most] > 0 {
            let sum = counts.reduce(0, +)
            let total = counts.contains { $0 >= countLimit } ? "\(sum) or more" : "\(sum)"
            summary =
                "Finished in the last hour: \(total). The most in a minute: \(text(counts[most])), at "
                + "\(ChartFrame.clock(minute(most))) UTC. Operations that were deleted since do not count."
        } else {
            summary = "No operation was finished in the last hour."
        }
        return Chart(
            id: "throughput",
            title: "Finished operations per minute",
            summary: summary,
            frame,
            series: [Chart.Series(kind: "bars", name: "finished", path: frame.bars(counts))],
            labels: frame.labels((minute(0), minute(counts.count / 2), minute(counts.count))),
            table: table
        )
    }

    /// The queued and running operations over the last hour.
    static func depth(_ samples: [DepthHistory.Sample], at time: Date) -> Chart {
        let length = 60 * Double(minutes)
        let start = time.addingTimeInterval(-length)
        // If the clock was set back, the samples from before have later times.
        let shown = samples.filter { $0.time >= start && $0.time <= time }.sorted { $0.time < $1.time }
        var table = Table("Queued and running operations", ["Time"], numbers: ["Queued", "Running"])
        for sample in shown { table.add([.time(sample.time), .number(sample.queued), .number(sample.running)]) }
        table.whenEmpty = "The console has not counted operations yet."
        let frame = ChartFrame(of: shown.flatMap { [$0.queued, $0.running] })
        func steps(_ value: (DepthHistory.Sample) -> Int) -> String {
            frame.steps(shown.map { (place: $0.time.timeIntervalSince(start) / length, value: value($0)) })
        }
        let summary: String
        if let newest = shown.last, let first = shown.first {
            let most = shown.map(\.queued).max() ?? 0
            summary =
                "Queued: \(newest.queued). Running: \(newest.running). The most that were queued since "
                + "\(ChartFrame.clock(first.time)) UTC: \(most). The console counts every 30 seconds while it runs."
        } else {
            summary = "The console has not counted operations yet. It counts every 30 seconds while it runs."
        }
        return Chart(
            id: "depth",
            title: "Queued and running operations",
            summary: summary,
            frame,
            series: [
                Chart.Series(kind: "queued", name: "queued", path: steps { $0.queued }),
                Chart.Series(kind: "running", name: "running", path: steps { $0.running }),
            ],
            labels: frame.labels((start, start.addingTimeInterval(length / 2), time)),
            table: table
        )
    }
}
