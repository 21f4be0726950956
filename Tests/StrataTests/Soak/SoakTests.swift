import Foundation
import Testing

/// Random work of several processes on one store file, one of which is killed now and then and started again. All along and at
/// the end there is asked for what must hold whatever they do: see `Soak.audit`, `SoakWorker` and `SoakRun`.
///
/// A short run with a fixed seed is always made. `STRATA_SOAK_MINUTES=60` makes a long one, with another seed each time or with
/// `STRATA_SEED`, which also looks at memory and file descriptors and prints their series:
///
///     STRATA_SOAK_MINUTES=60 Scripts/test --filter SoakTests
///
/// A failure names the seed of the process, its worker and the step, and tells what the history says of the objects concerned. A run
/// again with the same seed takes the same steps; in which order processes and workers come to them is up to the machine.
@Suite("C17 C19 C20 soak runs", .serialized) struct SoakTests {
    private static let minutes = ProcessInfo.processInfo.environment["STRATA_SOAK_MINUTES"].flatMap { Double($0) }

    @Test("three processes work at random on one store, one is killed: nothing is lost, nobody is told anything untrue")
    func short() async throws {
        try await SoakRun(seed: 1, steps: 150, seconds: nil).run()
    }

    @Test("the same for a long time: memory and file descriptors stay as they are", .enabled(if: minutes != nil))
    func long() async throws {
        let seconds = try #require(Self.minutes) * 60
        // Seeds are handed on as numbers of the command line.
        try await SoakRun(seed: Int(SeededGenerator.seed % 1_000_000_000), steps: .max, seconds: seconds).run()
    }
}
