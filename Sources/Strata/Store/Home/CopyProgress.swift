/// Reports the progress of making a working copy: to the function for the progress of migrations, and as metrics.
final class CopyProgress {
    private let meter: MigrationMeter
    private let metrics: HomeMetrics?
    private let expected: Int64?
    private var copied: Int64 = 0
    /// The copied rows of each table.
    private var rowCounts: [UTF8Text: Int64] = [:]
    /// The part of the reported effort that each unit of the effort of indexing has; nil before the first index.
    private var indexingScale: Double?

    /// - Parameter expected: about how many rows the home has; nil if it does not know.
    init(_ report: (@Sendable (MigrationProgress) -> Void)?, _ metrics: HomeMetrics?, expected: Int64?) {
        meter = MigrationMeter(report)
        self.metrics = metrics
        self.expected = expected
        // How many rows each table has is known when they are copied. Until then, an index for each row is expected.
        meter.expect(Double(expected ?? 0) * (1 + MigrationRun.indexEffort))
        metrics?.noteCopied(0, of: expected ?? 0)
    }

    /// Adds to the copied rows.
    func advance(_ count: Int, of table: String) {
        copied += Int64(count)
        rowCounts[UTF8Text(table), default: 0] += Int64(count)
        meter.advance(Double(count), "Copying \(table)")
        // The home may have more rows than it has estimated.
        metrics?.noteCopied(copied, of: max(copied, expected ?? 0))
    }

    /// Reports that a table gets its indexes. All rows are copied.
    ///
    /// - Parameters:
    ///   - table: the table.
    ///   - models: all tables. Their indexes share the rest of the reported effort.
    func beginIndexing(_ table: TableDescription, of models: SchemaDescription) {
        if indexingScale == nil {
            let effort = models.tables.reduce(0.0) { $0 + indexingEffort(of: $1) }
            indexingScale = effort > 0 ? max(0, meter.expected - Double(copied)) / effort : 0
        }
        meter.begin("Indexing \(table.name)")
    }

    /// Reports that a table has its indexes.
    func endIndexing(_ table: TableDescription) {
        meter.advance(indexingEffort(of: table) * (indexingScale ?? 0), "Indexing \(table.name)")
    }

    private func indexingEffort(of table: TableDescription) -> Double {
        let indexes = MigrationRun.indexEffort * Double(table.uniques.count + table.indexes.count)
        let search = table.search == nil ? 0 : MigrationRun.searchEffort
        return Double(rowCounts[UTF8Text(table.name)] ?? 0) * (indexes + search)
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
