/// Reports the progress of a migration.
final class MigrationMeter {
    private let report: (@Sendable (MigrationProgress) -> Void)?
    /// The expected effort so far.
    private(set) var expected = 0.0
    private var done = 0.0

    init(_ report: (@Sendable (MigrationProgress) -> Void)?) { self.report = report }

    /// Whether progress is reported, so that the effort must be estimated.
    var isUsed: Bool { report != nil }

    /// Adds to the expected effort. The unit is the effort of copying one row.
    func expect(_ effort: Double) { expected += effort }

    /// Reports a new activity.
    func begin(_ activity: String) { advance(0, activity) }

    /// Adds to the completed effort and reports the progress.
    func advance(_ effort: Double, _ activity: String) {
        done += effort
        report?(MigrationProgress(fraction: expected > 0 ? min(1, done / expected) : 0, activity: activity))
    }

    func finish() { report?(MigrationProgress(fraction: 1, activity: "Done")) }
}
