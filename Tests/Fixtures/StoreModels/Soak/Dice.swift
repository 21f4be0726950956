import Foundation

/// A repeatable generator (SplitMix64) with functions for random work.
public struct Dice: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    /// The seed of random tests: that of the environment variable `STRATA_SEED`, or a new one.
    public static var seed: UInt64 {
        ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap(UInt64.init) ?? .random(in: 1...UInt64(UInt32.max))
    }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    public mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &self) }

    public mutating func chance(_ percent: Int) -> Bool { number(0..<100) < percent }

    public mutating func pick<Element>(_ elements: [Element]) -> Element? { elements.randomElement(using: &self) }
}
