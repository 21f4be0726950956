import Foundation
import Hummingbird
import HummingbirdTesting
import Strata
import StrataPipeline
import Testing

@testable import StrataConsole

@Suite("Charts of the console", .timeLimit(.minutes(1))) struct ConsoleChartTests {
    private static let time = Date(timeIntervalSinceReferenceDate: 800_000_000)

    private static func sample(_ seconds: Double, _ queued: Int, _ running: Int = 0) -> DepthHistory.Sample {
        DepthHistory.Sample(time: time.addingTimeInterval(seconds), queued: queued, running: running)
    }

    // MARK: Scales

    @Test("A chart without values, or with zeros only, has the maximum 1 and draws nothing")
    func empty() {
        for values in [[], [0], [0, 0, 0]] {
            let frame = ChartFrame(of: values)
            #expect(frame.maximum == 1)
            #expect(frame.bars(values) == "")
        }
        #expect(ChartFrame(of: []).steps([]) == "")
    }

    @Test("One value fills the height of its chart")
    func one() {
        let frame = ChartFrame(of: [7])
        #expect(frame.bars([7]).hasPrefix("M69.8 118.0v-106.0"))
        #expect(frame.steps([(place: 0, value: 7)]) == "M38.0 12.0H356.0")
    }

    @Test("Huge values are scaled, and small ones beside them can still be seen")
    func huge() {
        let values = [Int.max, 1, 0, Int.max / 2]
        let frame = ChartFrame(of: values)
        #expect(frame.maximum == .max)
        let bars = frame.bars(values)
        #expect(bars.contains("v-106.0") && bars.contains("v-1.0") && bars.contains("v-53.0"))
        #expect(bars.count(where: { $0 == "M" }) == 3)
        #expect(frame.y(.max) == 12 && frame.y(0) == 118)
    }

    @Test("Values and places out of the chart are drawn at its edges")
    func edges() {
        let frame = ChartFrame(of: [10])
        #expect(frame.y(-5) == frame.y(0) && frame.y(20) == frame.y(10))
        #expect(frame.x(-1) == frame.x(0) && frame.x(2) == frame.x(1) && frame.x(.nan) == frame.x(0))
    }

    @Test("Labels are short")
    func labels() {
        #expect([0, 9999].map(ChartFrame.compact) == ["0", "9999"])
        #expect([10_000, 12_345, 123_456, 1_500_000].map(ChartFrame.compact) == ["10.0k", "12.3k", "123k", "1.5M"])
        #expect(ChartFrame.compact(.max) == "9.2E")
        #expect(ChartFrame.clock(Self.time) == "06:13")
        #expect(ChartFrame.clock(.distantFuture.addingTimeInterval(1e15)) == "-")
    }

    // MARK: Charts

    @Test("The chart of finished operations has a bar and a row for each minute, and says where it stops counting")
    func throughput() throws {
        let start = OverviewCharts.start(at: Self.time)
        #expect(start.timeIntervalSinceReferenceDate.truncatingRemainder(dividingBy: 60) == 0)
        #expect((59 * 60...60 * 60).contains(Self.time.timeIntervalSince(start)))
        var counts = [Int](repeating: 0, count: OverviewCharts.minutes)
        let empty = OverviewCharts.throughput(counts, from: start)
        #expect(empty.summary == "No operation was finished in the last hour.")
        counts[3] = 5
        let chart = OverviewCharts.throughput(counts, from: start)
        #expect(chart.table.rows.count == 60)
        #expect(chart.table.rows[3].cells[1].text == "5")
        #expect(chart.summary.contains("Finished in the last hour: 5. The most in a minute: 5, at "))
        counts[4] = OverviewCharts.countLimit
        let full = OverviewCharts.throughput(counts, from: start)
        #expect(full.summary.contains("hour: 10005 or more. The most in a minute: 10000 or more, at "))
        #expect(full.table.rows[4].cells[1].text == "10000 or more")
    }

    @Test("The chart of queued operations shows the samples of the last hour, also after the clock was set back")
    func depth() {
        #expect(OverviewCharts.depth([], at: Self.time).table.isEmpty)
        let samples = [Self.sample(60, 9), Self.sample(-4000, 8), Self.sample(-30, 3, 1), Self.sample(-60, 7)]
        let chart = OverviewCharts.depth(samples, at: Self.time)
        #expect(chart.table.rows.map { $0.cells[1].text } == ["7", "3"])
        #expect(chart.summary.contains("Queued: 3. Running: 1. The most that were queued since 06:12 UTC: 7."))
        #expect(chart.series.map(\.kind) == ["queued", "running"] && chart.hasLegend)
    }

    @Test("The samples are bounded, and the newest are kept")
    func history() {
        let history = DepthHistory(capacity: 3)
        for number in 0..<10 { history.add(Self.sample(Double(number), number)) }
        #expect(history.all.map(\.queued) == [7, 8, 9])
    }

    @Test("The overview draws charts with a title, a description and the numbers")
    func page() async throws {
        let fixture = try await ConsoleFixture(pipelines: ["photos", "photos"])
        let writer = try await ConsoleFixture.open(fixture.folder)
        let pipeline = try await Pipeline.open(writer, named: "photos") { (_: Attempt<ConsoleFixture.Letter>) in .done }
        try await pipeline.waitUntilIdle()
        await pipeline.close()
        try await writer.close()
        try await DepthSampler.sample(fixture.console.store)
        try await fixture.run { client in
            let text = try await client.get("/").text
            #expect(text.contains(#"<svg role="img" viewBox="0 0 360 140" aria-labelledby="throughput-title"#))
            #expect(text.contains(#"<title id="depth-title">"#) && text.contains(#"<desc id="depth-desc">"#))
            #expect(text.contains("Finished in the last hour: 2."))
            #expect(text.contains("Queued: 0. Running: 0."))
            #expect(text.contains(#"<details id="throughput-numbers">"#))
            #expect(text.contains("<dt>Size</dt>") && text.contains("<dt>Journal</dt>"))
            #expect(text.contains("<dt>Other processes</dt>"))
            #expect(try await client.get("/style.css").text.contains(".chart-bars"))
        }
    }

    // MARK: Sampling

    @Test("A console counts the operations from the time at which its routes are added")
    func sampling() async throws {
        let fixture = try await ConsoleFixture(pipelines: ["photos", "letters"])
        try await fixture.run { _ in
            while fixture.console.store.depth.all.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
        }
        let first = try #require(fixture.console.store.depth.all.first)
        #expect(first.queued == 2 && first.running == 0)
    }

    @Test("A released console stops counting, and releases its stack")
    func release() async throws {
        let fixture = try await ConsoleFixture()
        weak var store: StoreAccess?
        do {
            let console = StoreConsole(of: fixture.stack, options: ConsoleOptions(authentication: .none))
            console.sampler.start()
            console.sampler.start()
            store = console.store
            while console.store.depth.all.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
        }
        while store != nil { try await Task.sleep(for: .milliseconds(2)) }
        try await fixture.stack.close()
    }
}
