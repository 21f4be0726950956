import Foundation
import TestRepositories
import Testing

/// Runs that end before they are complete.
@Suite(.serialized) struct HistoryInterruptionTests {
    private static let batch = 50

    /// A run that has stored two batches, has read a part of the third, and waits for more input.
    private func startedRun(_ fixture: HistoryFixture, _ log: Data) throws -> (run: Program, rest: Data) {
        let run = try fixture.start(batch: Self.batch)
        let cut = log.recordStarts[Self.batch * 2 + 20]
        run.feed(log[..<cut])
        while try fixture.stored() != Self.batch * 2 {}
        return (run, log[cut...])
    }

    @Test("After SIGKILL in mid-import, the store has whole batches, and the next run continues after them")
    func killed() throws {
        let fixture = try HistoryFixture(commits: 300)
        let (run, _) = try startedRun(fixture, try fixture.log())
        run.send(SIGKILL)
        #expect(try run.end().status == -SIGKILL)
        #expect(try fixture.stored() == Self.batch * 2)
        let next = try fixture.run()
        #expect(next.notes.contains("continuing after"))
        #expect(next.notes.hasSuffix("\n200 commits imported\n"))
        #expect(next.output == (try fixture.run(store: "other")).output)
    }

    @Test("After SIGKILL at any moment, the store never has a partial batch, and no commit is lost")
    func killedAnywhere() throws {
        var random = SeededGenerator.forThisRun()
        let fixture = try HistoryFixture(commits: 300)
        let log = try fixture.log()
        var stored = 0
        for _ in 0..<12 {
            let run = try fixture.start(batch: Self.batch)
            run.feed(log[..<Int.random(in: 0...log.count, using: &random)])
            run.send(SIGKILL)
            #expect(try run.end().status == -SIGKILL, "STRATA_SEED=\(random.seed)")
            let now = try fixture.stored() ?? 0
            #expect(now >= stored && now.isMultiple(of: Self.batch), "STRATA_SEED=\(random.seed)")
            stored = now
        }
        let last = try fixture.run()
        #expect(last.status == 0, "STRATA_SEED=\(random.seed): \(last.notes)")
        #expect(last.output == (try fixture.run(store: "other")).output, "STRATA_SEED=\(random.seed)")
    }

    @Test(
        "After SIGINT or SIGTERM, the program finishes the current batch, and the next run continues",
        arguments: [SIGINT, SIGTERM]
    )
    func stopped(signal: Int32) throws {
        let fixture = try HistoryFixture(commits: 300)
        let (run, rest) = try startedRun(fixture, try fixture.log())
        run.send(signal)
        run.waitForNote("stopping after this batch")
        run.feed(rest)
        let result = try run.end()
        #expect(result.status == 130)
        #expect(result.notes.hasSuffix("150 commits imported\nstopped; the same command continues from here\n"))
        #expect(result.output.isEmpty)
        #expect(try fixture.stored() == 150)
        #expect(try fixture.run().output == (try fixture.run(store: "other")).output)
    }

    @Test("A second SIGINT or SIGTERM ends the program at once", .timeLimit(.minutes(1)), arguments: [SIGINT, SIGTERM])
    func stoppedAtOnce(signal: Int32) throws {
        let fixture = try HistoryFixture(commits: 300)
        let (run, _) = try startedRun(fixture, try fixture.log())
        run.send(signal)
        run.waitForNote("stopping after this batch")
        run.send(signal)
        // The program must end before its input does, because the end of the input also ends a batch.
        run.waitUntilItEnds()
        #expect(try run.end().status == 128 + signal)
        #expect(try fixture.stored() == 100)
    }
}
