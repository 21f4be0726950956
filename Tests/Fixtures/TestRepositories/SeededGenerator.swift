import Foundation

/// SplitMix64: the same seed gives the same numbers.
package struct SeededGenerator: RandomNumberGenerator {
    package let seed: UInt64
    private var state: UInt64

    package init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// A new seed for each run. `STRATA_SEED` sets the seed, to repeat a run that has failed.
    package static func forThisRun() -> SeededGenerator {
        let wished = ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap { UInt64($0) }
        return SeededGenerator(seed: wished ?? .random(in: .min ... .max))
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
