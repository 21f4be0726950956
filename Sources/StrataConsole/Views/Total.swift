import StrataPipeline

/// The number of operations with a status, in large digits.
struct Total: Sendable {
    let name: String
    let count: Int
    /// The kind of the mark: see ``Mark``.
    let kind: String
    /// The list of these operations; nil if a name is too long for an address.
    let href: String?

    /// The totals of all statuses.
    ///
    /// - Parameter link: the address of the list of the operations with a status.
    static func all(_ counts: [OperationStatus: Int], _ link: (OperationStatus) -> String?) -> [Total] {
        OperationStatus.allCases.map { status in
            let count = counts[status] ?? 0
            return Total(
                name: status.description,
                count: count,
                kind: count > 0 ? Mark.kind(of: status) : Mark.idle,
                href: link(status)
            )
        }
    }
}
