import Foundation
import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

/// An account can limit its uploads to a number of bytes per second.
@Suite struct UploadRateTests {
    @Test func `bytes pass in turn, no faster than the rate`() {
        let start = ContinuousClock.now
        var schedule = Throttle.Schedule(rate: 1000)
        #expect(schedule.turn(of: 100, at: start) == start + .milliseconds(100))
        #expect(schedule.turn(of: 100, at: start) == start + .milliseconds(200))
        #expect(schedule.turn(of: 50, at: start + .milliseconds(150)) == start + .milliseconds(250))
        #expect(schedule.turn(of: 0, at: start) == start + .milliseconds(250))
    }

    @Test func `what was not used is not saved up`() {
        let start = ContinuousClock.now
        var schedule = Throttle.Schedule(rate: 1000)
        _ = schedule.turn(of: 100, at: start)
        let later = start + .seconds(60)
        #expect(schedule.turn(of: 500, at: later) == later + .milliseconds(500))
        #expect(schedule.turn(of: 500, at: later) == later + .seconds(1))
    }

    @Test(arguments: [(0, 1, 1), (1, 1, 1), (9, 9, 1), (5000, 5000, 500), (1 << 30, 1 << 30, 256 << 10)])
    func `a piece takes a tenth of a second, or less`(rate: Int, held: Int, piece: Int) {
        #expect(Throttle.Schedule(rate: rate).rate == held)
        #expect(Throttle(rate: rate).piece == piece)
    }

    private func stage(_ rate: Int) async throws -> CloudStage {
        try await CloudStage(
            StrictRemote(RemoteCapabilities(minimumPartSize: 4, isLocal: true)),
            options: CloudOptions(maxConcurrent: 4, partSize: 5_000, maxUploadRate: rate)
        )
    }

    private func make(_ stage: CloudStage, _ texts: [String: String]) async throws {
        try await stage.commit { cloud in
            for (name, text) in texts {
                let node = try cloud.createNode(at: TreePath([name]))
                stage.handler.set(text, of: node.id)
            }
        }
    }

    @Test func `all uploads of an account share the rate, in parts or whole, and arrive`() async throws {
        let stage = try await stage(100_000)
        let whole = (0..<4).map { number in String((0..<600).flatMap { "\(number).\($0 + 1000) " }) }
        let long = String((0..<4_000).flatMap { "\($0 + 1000) " })
        let sum = whole.reduce(long.utf8.count) { $0 + $1.utf8.count }
        try await make(stage, ["a": whole[0], "b": whole[1], "c": whole[2], "d": whole[3], "long": long])
        let start = ContinuousClock.now
        try await stage.drain()
        // The test has no upper bound, because that depends on the speed of the machine.
        #expect(start.duration(to: .now) >= .seconds(Double(sum) / 100_000))
        for (name, text) in zip(["a", "b", "c", "d", "long"], whole + [long]) {
            #expect(stage.remote.tree["home/\(name)"] == text)
        }
        #expect(stage.remote.requests.contains { $0.verb == "PART 4" })
        #expect(try await stage.account.progress().uploads.description == "5 of 5 files, \(sum) of \(sum) bytes")
        await stage.account.close()
    }

    @Test func `an account that is held to a byte a second is closed at once`() async throws {
        let stage = try await stage(1)
        try await make(stage, ["a": "twelve bytes", "b": String(repeating: "b", count: 20_000)])
        stage.account.push.resume()
        while try await stage.account.progress().uploads.bytesDone < 1 {
            try await Task.sleep(for: .milliseconds(1))
        }
        await stage.account.close()
        #expect(stage.remote.tree["home/a"] == nil && stage.remote.tree["home/b"] == nil)
        #expect(try await stage.stack.background { try $0.count(QueuedOperation.all) } > 0)
    }
}
