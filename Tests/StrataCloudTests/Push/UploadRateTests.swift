import Foundation
import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

/// An account can limit its uploads to a number of bytes per second.
@Suite struct UploadRateTests {
    @Test("Bytes pass in order, no faster than the rate")
    func steadyRate() {
        let start = ContinuousClock.now
        var schedule = Throttle.Schedule(rate: 1000)
        #expect(schedule.finishTime(of: 100, at: start) == start + .milliseconds(100))
        #expect(schedule.finishTime(of: 100, at: start) == start + .milliseconds(200))
        #expect(schedule.finishTime(of: 50, at: start + .milliseconds(150)) == start + .milliseconds(250))
        #expect(schedule.finishTime(of: 0, at: start) == start + .milliseconds(250))
    }

    @Test("Unused capacity is not saved")
    func noBursts() {
        let start = ContinuousClock.now
        var schedule = Throttle.Schedule(rate: 1000)
        _ = schedule.finishTime(of: 100, at: start)
        let later = start + .seconds(60)
        #expect(schedule.finishTime(of: 500, at: later) == later + .milliseconds(500))
        #expect(schedule.finishTime(of: 500, at: later) == later + .seconds(1))
    }

    @Test(
        "A piece takes a tenth of a second at most",
        arguments: [(0, 1, 1), (1, 1, 1), (9, 9, 1), (5000, 5000, 500), (1 << 30, 1 << 30, 256 << 10)]
    )
    func pieceSize(rate: Int, held: Int, piece: Int) {
        #expect(Throttle.Schedule(rate: rate).rate == held)
        #expect(Throttle(rate: rate).piece == piece)
    }

    private func harness(_ rate: Int) async throws -> CloudHarness {
        try await CloudHarness(
            StrictRemote(RemoteCapabilities(minimumPartSize: 4, isLocal: true)),
            options: CloudOptions(maxConcurrent: 4, partSize: 5_000, maxUploadRate: rate)
        )
    }

    private func make(_ harness: CloudHarness, _ texts: [String: String]) async throws {
        try await harness.commit { cloud in
            for (name, text) in texts {
                let node = try cloud.createNode(at: TreePath([name]))
                harness.handler.set(text, of: node.id)
            }
        }
    }

    @Test("All uploads of an account share the rate, whole or in parts, and arrive")
    func sharedRate() async throws {
        let harness = try await harness(100_000)
        let whole = (0..<4).map { number in String((0..<600).flatMap { "\(number).\($0 + 1000) " }) }
        let long = String((0..<4_000).flatMap { "\($0 + 1000) " })
        let sum = whole.reduce(long.utf8.count) { $0 + $1.utf8.count }
        try await make(harness, ["a": whole[0], "b": whole[1], "c": whole[2], "d": whole[3], "long": long])
        let start = ContinuousClock.now
        try await harness.drain()
        // The test has no upper bound, because that depends on the speed of the machine.
        #expect(start.duration(to: .now) >= .seconds(Double(sum) / 100_000))
        for (name, text) in zip(["a", "b", "c", "d", "long"], whole + [long]) {
            #expect(harness.remote.tree["home/\(name)"] == text)
        }
        #expect(harness.remote.requests.contains { $0.verb == "PART 4" })
        #expect(try await harness.account.progress().uploads.description == "5 of 5 files, \(sum) of \(sum) bytes")
        await harness.account.close()
    }

    @Test("An account limited to one byte per second closes at once")
    func closeAtSlowRate() async throws {
        let harness = try await harness(1)
        try await make(harness, ["a": "twelve bytes", "b": String(repeating: "b", count: 20_000)])
        harness.account.uploads.resume()
        while try await harness.account.progress().uploads.bytesDone < 1 {
            try await Task.sleep(for: .milliseconds(1))
        }
        await harness.account.close()
        #expect(harness.remote.tree["home/a"] == nil && harness.remote.tree["home/b"] == nil)
        #expect(try await harness.stack.background { try $0.count(QueuedOperation.all) } > 0)
    }
}
