import StrataPipeline

/// The number of operations with a status, in large digits.
struct Total: Sendable {
    let name: String
    let count: Int
    /// The kind of the mark: see ``Mark``.
    let kind: String

    /// The totals of all statuses.
    static func all(_ counts: [OperationStatus: Int]) -> [Total] {
        OperationStatus.allCases.map { status in
            let count = counts[status] ?? 0
            return Total(
                name: status.description,
                count: count,
                kind: count > 0 ? Mark.kind(of: status) : Mark.idle
            )
        }
    }
}
