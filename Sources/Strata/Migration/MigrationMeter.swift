/// Reports how far a migration has come.
final class MigrationMeter {
    private let report: (@Sendable (MigrationProgress) -> Void)?
    private var total = 0.0
    private var done = 0.0

    init(_ report: (@Sendable (MigrationProgress) -> Void)?) { self.report = report }

    /// Whether anybody listens, so that effort has to be estimated.
    var isUsed: Bool { report != nil }

    /// Adds to what is to be done, in the effort of copying a row.
    func expect(_ effort: Double) { total += effort }

    /// What is expected so far.
    var expected: Double { total }

    /// Says what is being done.
    func begin(_ activity: String) { advance(0, activity) }

    /// Says that so much of it has been done.
    func advance(_ effort: Double, _ activity: String) {
        done += effort
        report?(MigrationProgress(fraction: total > 0 ? min(1, done / total) : 0, activity: activity))
    }

    func finish() { report?(MigrationProgress(fraction: 1, activity: "Done")) }
}
