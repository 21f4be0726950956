import Foundation
import Strata

extension HomePromise {
    private struct Interruption: Error {}

    static func checkCreationWithRows(_ nodes: [HomeNode]) throws {
        let store = try SampleStore()
        let insertion = try store.changes {
            for (index, (column, value)) in SampleValues.all.enumerated() {
                var row = [StoredValue](repeating: .null, count: 4)
                row[column] = value
                try store.insert([.integer(Int64(index))] + row)
            }
        }
        var rows: [[StoredValue]] = []
        try insertion.forEach { _, change in
            if case .insert(let row) = change { rows.append(row) }
        }
        let unusual = [StoredValue.integer(1)] + SampleStore.unusualColumns.map { StoredValue.text("value of \($0)") }
        try store.insert(unusual, into: SampleStore.unusualName)
        let state = HomeState(
            fingerprint: 4711,
            description: SampleStore.description,
            position: HomePosition(number: 1, id: UUID())
        )
        // An attempt that fails after its rows leaves nothing.
        do {
            _ = try nodes[0].home.create(state, nextID: 5_000) { insert in
                try insert("Item", rows)
                throw Interruption()
            }
            throw HomeFailure(description: "The creation ends although its rows have failed.")
        } catch is Interruption {}
        let isCreated = try nodes[0].home.create(state, nextID: 5_000) { insert in
            try insert("Item", Array(rows.prefix(2)))
            try insert("Item", Array(rows.dropFirst(2)))
            try insert(SampleStore.unusualName, [unusual])
        }
        try expect(isCreated, "The home has a store after an attempt that has failed.")
        let again = try nodes[1].home.create(state, nextID: 1) { _ in
            throw HomeFailure(description: "The rows of a store that exists are asked for.")
        }
        try expect(!again, "A second store is created.")

        for node in nodes {
            let found = try node.open()
            try expect("the fingerprint", is: found.fingerprint, state.fingerprint)
            try expect("the position", is: found.position, state.position)
            try expect("the description", is: found.description, state.description)
        }
        _ = try nodes[0].home.report(state.position, of: UUID(), named: "node")
        try expect("the nodes", is: try nodes[1].home.nodes().map(\.name), ["node"])
        try expect("the rows", is: try nodes[1].copy().rows, store.rows())
        try expect("the newest position", is: try nodes[2].home.newest(), state.position)
        try expect(try nodes[2].home.reserveIDs(10) >= 5_000, "An id of the existing store is reserved.")
        try expect(.homeExpired, from: "the start as a position") {
            _ = try nodes[2].home.transactions(after: .start, limit: 1)
        }
        let next = try nodes[2].publish(store.changes { try store.delete(0) })
        try expect("the position before the next transaction", is: next.previous, state.position)
        try expect("the rows after it", is: try nodes[0].copy().rows, store.rows())
        let later = try nodes[0].home.transactions(after: state.position, limit: 10).transactions
        try expect("the transactions after the creation", is: later.map(\.position), [next.position])
    }
}
