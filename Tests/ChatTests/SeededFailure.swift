import TestRepositories
import Testing

/// Runs a test with random numbers. Every failure reports the seed, and `STRATA_SEED` repeats a run.
func withRandom(_ body: (inout SeededGenerator) throws -> Void) throws {
    var random = SeededGenerator.forThisRun()
    let seed = random.seed
    do {
        try body(&random)
    } catch {
        throw SeededFailure(seed: seed, underlying: error)
    }
}

struct SeededFailure: Error, CustomStringConvertible {
    let seed: UInt64
    let underlying: any Error

    var description: String { "STRATA_SEED=\(seed): \(underlying)" }
}
