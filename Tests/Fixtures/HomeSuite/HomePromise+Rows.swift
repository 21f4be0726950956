import Foundation
import Strata

extension HomePromise {
    static func checkValues(_ nodes: [HomeNode]) throws {
        for node in nodes { try node.open() }
        let store = try SampleStore()
        // Each value is inserted, replaces NULL, replaces another value, and is replaced by NULL.
        let nothing = [StoredValue](repeating: .null, count: 4)
        let inserted = try store.changes {
            for (index, (column, value)) in SampleValues.all.enumerated() {
                let first = Int64(index) * 3
                var row = nothing
                row[column] = value
                try store.insert([.integer(first)] + row)
                try store.insert([.integer(first + 1)] + nothing)
                try store.insert([.integer(first + 2)] + row)
            }
            for (id, value) in SampleValues.unsigned.enumerated() {
                try store.insert([.integer(Int64(id)), value], into: "Counter")
            }
        }
        try nodes[0].publish(inserted)
        try expect("the inserted rows", is: try nodes[1].copy().rows, store.rows())
        let updated = try store.changes {
            for (index, (column, value)) in SampleValues.all.enumerated() {
                let first = Int64(index) * 3
                let (_, other) = SampleValues.all.first { $0.column == column && $0.value != value } ?? (column, .null)
                let name = SampleStore.description.tables[0].columns[column + 1].name
                try store.update(first, [(name, other)])
                try store.update(first + 1, [(name, value)])
                try store.update(first + 2, [(name, .null)])
            }
            for (id, value) in SampleValues.unsigned.reversed().enumerated() {
                try store.update(Int64(id), [("total", value)], in: "Counter")
            }
        }
        try nodes[1].publish(updated)
        try expect("the updated rows", is: try nodes[2].copy().rows, store.rows())
        let found = try nodes[2].transactions()
        try expect("the changes of the transactions", is: found.map(\.changes), [inserted, updated])
    }

    static func checkChanges(_ nodes: [HomeNode]) throws {
        for node in nodes { try node.open() }
        let store = try SampleStore()
        let content = StoredValue.blob(Data([1, 2, 3]))
        try nodes[0].publish(
            store.changes {
                for id in Int64(1)...9 {
                    try store.insert([.integer(id), .integer(id * 10), .real(0.5), .text("row \(id)"), content])
                }
                // The smallest and largest ids.
                try store.insert([.integer(.min), .null, .null, .null, .null])
                try store.insert([.integer(.max), .null, .null, .null, .null])
            }
        )
        try nodes[1].publish(
            store.changes {
                try store.update(1, [("number", .integer(0))])
                try store.update(2, [("name", .null), ("content", .blob(Data()))])
                try store.update(.max, [("size", .real(1))])
                try store.delete(3)
                try store.delete(.min)
                try store.insert([.integer(10), .null, .null, .text("new"), .null])
                // A row that is replaced is one update, and a row that comes and goes does not appear.
                try store.delete(4)
                try store.insert([.integer(4), .integer(40), .real(7), .null, content])
                try store.insert([.integer(11), .null, .null, .null, .null])
                try store.delete(11)
            }
        )
        try expect("the changed rows", is: try nodes[2].copy().rows, store.rows())
        // An id may be used again.
        try nodes[2].publish(store.changes { try store.insert([.integer(3), .null, .null, .text("again"), .null]) })
        try expect("the rows", is: try nodes[0].copy().rows, store.rows())
        try nodes[0].publish(store.changes { for id in Int64(1)...10 { try store.delete(id) } })
        let copy = try nodes[1].copy()
        try expect("the remaining rows", is: copy.rows, store.rows())
        try expect("the position of the copy", is: copy.position, try nodes[1].home.newest())
    }

    static func checkNames(_ nodes: [HomeNode]) throws {
        for node in nodes[..<2] { try node.open() }
        let store = try SampleStore()
        let table = SampleStore.unusualName
        let values = SampleStore.unusualColumns.map { StoredValue.text("value of \($0)") }
        try nodes[0].publish(
            store.changes {
                for id in Int64(1)...3 { try store.insert([.integer(id)] + values, into: table) }
            }
        )
        try nodes[0].publish(
            store.changes {
                for (index, column) in SampleStore.unusualColumns.enumerated() {
                    try store.update(Int64(index % 2) + 1, [(column, .text("changed"))], in: table)
                }
                try store.delete(3, from: table)
            }
        )
        try expect("the rows", is: try nodes[1].copy().rows, store.rows())
        try expect("the description", is: try nodes[2].open().description, SampleStore.description)
    }

    static func checkCopy(_ nodes: [HomeNode]) throws {
        for node in nodes { try node.open() }
        let store = try SampleStore()
        let unusual = [StoredValue](repeating: .text("before"), count: SampleStore.unusualColumns.count)
        let first = try nodes[0].publish(
            store.changes {
                for id in Int64(0)..<3_000 {
                    try store.insert([.integer(id), .integer(id), .null, .text("before"), .null])
                    try store.insert([.integer(id)] + unusual, into: SampleStore.unusualName)
                }
            }
        )
        let before = try store.rows()
        // Concerns the first and last rows of both tables.
        let changes = try store.changes {
            for id in stride(from: Int64(0), to: 3_000, by: 2) {
                try store.update(id, [("name", .text("after"))])
                try store.update(id, [("group", .text("after"))], in: SampleStore.unusualName)
            }
            for id in stride(from: Int64(1), to: 3_000, by: 300) {
                try store.delete(id)
                try store.delete(id, from: SampleStore.unusualName)
                try store.insert([.integer(id + 3_000), .null, .null, .null, .null])
            }
        }
        let after = try store.rows()
        let writer = nodes[1]
        var (rows, second) = (SampleRows(), HomePosition.start)
        let position = try nodes[0].home.copy { table, portion in
            for row in portion { try rows.add(row, to: table) }
            // Another node publishes in the middle of the copy.
            if second == .start { second = try HomeThread { try writer.publish(changes).position }.value() }
        }
        try expect([first.position, second].contains(position), "The copy has the unknown position \(position).")
        try expect("the copied rows", is: rows, position == second ? after : before)
        let next = try nodes[0].copy()
        try expect("the position of the next copy", is: next.position, second)
        try expect("the rows of the next copy", is: next.rows, after)
    }
}
