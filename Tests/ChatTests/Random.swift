import TestRepositories
import Testing

/// Runs a test with random numbers, and says with every failure which they were: `STRATA_SEED` repeats them.
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
