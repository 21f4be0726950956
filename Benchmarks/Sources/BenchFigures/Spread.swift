/// The median of several figures, with the least and the most.
public struct Spread: Sendable, Encodable {
    public let median: Double
    public let least: Double
    public let most: Double

    /// - Parameter figures: at least one figure, in any order.
    public init(_ figures: [Double]) {
        let sorted = figures.sorted()
        let middle = sorted.count / 2
        median = sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
        least = sorted[0]
        most = sorted[sorted.count - 1]
    }
}
