/// Reports the progress of making a working copy: to the function for the progress of migrations, and as metrics.
final class CopyProgress {
    private let meter: MigrationMeter
    private let metrics: HomeMetrics?
    private let expected: Int64?
    private var copied: Int64 = 0

    /// - Parameter expected: about how many rows the home has; nil if it does not know.
    init(_ report: (@Sendable (MigrationProgress) -> Void)?, _ metrics: HomeMetrics?, expected: Int64?) {
        meter = MigrationMeter(report)
        self.metrics = metrics
        self.expected = expected
        meter.expect(Double(expected ?? 0))
        metrics?.noteCopied(0, of: expected ?? 0)
    }

    /// Adds to the copied rows.
    func advance(_ count: Int, of table: String) {
        copied += Int64(count)
        meter.advance(Double(count), "Copying \(table)")
        // The home may have more rows than it has estimated.
        metrics?.noteCopied(copied, of: max(copied, expected ?? 0))
    }

    /// Reports that the copy is in its place.
    ///
    /// - Parameter isRebuilt: whether there was another copy, which could not continue.
    func finish(isRebuilt: Bool) {
        metrics?.noteCopied(copied, of: copied)
        metrics?.noteCopy(isRebuilt: isRebuilt)
        meter.finish()
    }
}
