import Foundation
import Testing

/// Random work of several processes on one store file. One of the processes is killed from time to time and started
/// again. During the run and at its end, the test checks the rules that must always hold: see `Soak.audit`,
/// `SoakWorker` and `SoakRun`.
///
/// A short run with a fixed seed always takes place. `STRATA_SOAK_MINUTES=60` adds a long run, with a new seed each
/// time or with `STRATA_SEED`. The long run also measures memory and file descriptors and prints their series:
///
///     STRATA_SOAK_MINUTES=60 Scripts/test --filter StrataTests.SoakTests
///
/// A failure names the seed of the process, its worker and the step, and prints the history of the affected objects. A
/// run with the same seed takes the same steps, but their order across processes and workers depends on the machine.
@Suite("Soak runs", .serialized) struct SoakTests {
    private static let minutes = ProcessInfo.processInfo.environment["STRATA_SOAK_MINUTES"].flatMap { Double($0) }

    @Test("Three processes work at random on one store and one is killed: no change is lost, and no report is wrong")
    func short() async throws {
        try await SoakRun(seed: 1, steps: 150, seconds: nil).run()
    }

    @Test("Memory and file descriptors stay constant over a long soak run", .enabled(if: minutes != nil))
    func long() async throws {
        let seconds = try #require(Self.minutes) * 60
        // Seeds are passed as numbers on the command line.
        try await SoakRun(seed: Int(SeededGenerator.seed % 1_000_000_000), steps: .max, seconds: seconds).run()
    }
}
