/// What two layers hold unsaved over a table of stored entries: in each a thousand changes, of which 400 are updates,
/// 300 deletes and 300 inserts. The upper layer updates 100 of the rows that the lower one has inserted.
struct PendingPlan: Sendable {
    struct Layer: Sendable {
        let updated: [Int]
        let deleted: [Int]
        let inserted: [Int]
    }

    let lower: Layer
    let upper: Layer
    /// The lower bounds of the quantities asked for; each query takes ``width`` of them.
    let bounds: [Int]
    let width = 500

    init(_ sizes: Sizes) {
        let count = sizes.pendingStored
        let step = count / 500
        func spread(_ amount: Int, from offset: Int) -> [Int] { (0..<amount).map { $0 * step + offset } }
        let first = Array(count..<count + 300)
        lower = Layer(updated: spread(400, from: 0), deleted: spread(300, from: 1), inserted: first)
        upper = Layer(
            updated: spread(300, from: 2) + first.prefix(100),
            deleted: spread(300, from: 3),
            inserted: Array(count + 300..<count + 600)
        )
        bounds = (0..<sizes.pendingQueries).map { $0 * 9_000 / sizes.pendingQueries }
    }

    /// The quantity that an update gives the entry with this serial.
    static func quantity(of serial: Int) -> Int { (serial &* 7_919) % 10_000 }
}
