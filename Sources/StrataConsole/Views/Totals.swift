import StrataPipeline

/// The numbers of operations with each status, in large digits. The partial `totals` shows them.
struct Totals: Sendable {
    struct Total: Sendable {
        let name: String
        let count: Int
        /// The kind of the mark: see ``Mark``.
        let kind: String
        /// The list of these operations; nil if a name is too long for an address.
        let href: String?
    }

    /// The numbers of all statuses.
    let all: [Total]
    /// Nil if the operations were counted for this page.
    let note: String?

    /// - Parameter link: the address of the list of the operations with a status.
    init(_ counts: [OperationStatus: Int], note: String?, _ link: (OperationStatus) -> String?) {
        self.note = note
        all = OperationStatus.allCases.map { status in
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
