import Foundation
import Testing

@testable import Strata

/// Queries that look up unsaved rows by the values of columns.
@Suite struct PendingLookupTests {
    @Model(.unique("operation", "name", onConflict: .update))
    final class Hold {
        var operation: Int
        var name: String?
        var seconds: Double
        var note: String?
    }

    private func open() async throws -> ContextStack {
        try await ContextStack.open(.inMemory, models: [Hold.self], stack: .rootOnly)
    }

    private static func insert(_ operations: Range<Int>, into context: ObjectContext) {
        for operation in operations {
            for name in ["start", "end", nil] {
                context.insert(Hold(operation: operation, name: name, seconds: Double(operation), note: name))
            }
        }
    }

    @Test(
        "All compared columns take part in the look-up, in any order",
        arguments: ["\"operation\" = 7 AND \"name\" = 'start'", "\"name\" = 'start' AND \"operation\" = 7"]
    )
    func allColumns(_ conditions: String) async throws {
        let stack = try await open()
        try await stack.background { context in
            Self.insert(0..<10, into: context)
            context.publish()
            let connection = try context.currentSnapshot().reader.connection
            let sql = "SELECT \"id\" FROM \(Overlay.tableName(0)) WHERE \(conditions)"
            var plan: [String] = []
            try connection.statement("EXPLAIN QUERY PLAN " + sql).run([]) { plan.append($0.string(at: 3)) }
            // The plan of a look-up, and the positions of the columns.
            #expect(plan.count == 1 && plan[0].hasSuffix("VIRTUAL TABLE INDEX 2:0,1"), "\(plan)")
            context.rollback()
        }
        try await stack.close()
    }

    @Test("Rows are found by the values of several columns")
    func severalColumns() async throws {
        let stack = try await open()
        try await stack.background { context in
            Self.insert(0..<20, into: context)
            try context.commit()
            Self.insert(20..<40, into: context)
            for hold in try context.fetch(Hold.where { $0.operation == 3 }) { hold.note = "changed" }
            func count(_ query: Query<Hold>) throws -> Int { try context.count(query) }
            #expect(try count(Hold.where { $0.operation == 7 && $0.name == "start" }) == 1)
            #expect(try count(Hold.where { $0.name == "start" && $0.operation == 27 }) == 1)
            #expect(try count(Hold.where { $0.name == "start" && $0.operation == 27 && $0.note == "end" }) == 0)
            #expect(try count(Hold.where { $0.operation == 3 && $0.name == "end" && $0.note == "changed" }) == 1)
            #expect(try count(Hold.where { $0.operation == 3 && $0.name == "end" && $0.note == "end" }) == 0)
            #expect(try count(Hold.where { $0.operation == 27 && $0.operation == 28 && $0.name == "end" }) == 0)
            #expect(try count(Hold.where { $0.operation == 27 && $0.name == nil }) == 1)
            #expect(try count(Hold.where { $0.operation == 27 && $0.seconds == 27 && $0.name == "end" }) == 1)
            #expect(try count(Hold.where { $0.operation == 27 && $0.seconds == 28 && $0.name == "end" }) == 0)
            context.rollback()
        }
        try await stack.close()
    }
}
