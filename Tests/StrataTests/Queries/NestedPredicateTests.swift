import Foundation
import Testing

@testable import Strata

@Model final class Knot {
    var number: Int
    var parent: Knot?
    @Relationship(inverse: \Knot.parent) var children: Many<Knot>
    @Relationship(inverse: \Knot.back) var links: Many<Knot>
    var back: Many<Knot>
}

@Suite("Predicates that are nested over relationships")
struct NestedPredicateTests {
    typealias Nesting = @Sendable (Knot.Columns, (Knot.Columns) -> Condition<Knot>) -> Condition<Knot>

    static let nestings: [(name: String, nest: Nesting)] = [
        ("one to many", { columns, inner in columns.children.any { inner($0) } }),
        ("one to many, with a term", { columns, inner in columns.children.any { $0.number > 0 && inner($0) } }),
        ("many to many", { columns, inner in columns.links.any { inner($0) } }),
        ("many to many, with a term", { columns, inner in columns.links.any { $0.number > 0 && inner($0) } }),
        ("all", { columns, inner in columns.children.all { inner($0) } }),
    ]
    static let alternating: Nesting = { columns, inner in columns.children.any { $0.number < 0 || inner($0) } }

    private func condition(_ depth: Int, _ columns: Knot.Columns, _ nest: @escaping Nesting) -> Condition<Knot> {
        depth == 0 ? columns.number == 100 : nest(columns) { self.condition(depth - 1, $0, nest) }
    }

    /// A stack with a chain of eleven knots, from 1 to 10 and then 100. Each knot is both a child and a link of the one
    /// before.
    private func stack(isSaved: Bool) async throws -> (ContextStack, ContextHandle) {
        let stack = try await ContextStack.open(.inMemory, models: [Knot.self], stack: .rootOnly)
        let handle = try stack.create(.private)
        try await handle.perform { context in
            var last = context.insert(Knot(number: 100))
            for number in (1...10).reversed() {
                let knot = context.insert(Knot(number: number))
                last.parent = knot
                knot.links.insert(last)
                last = knot
            }
            if isSaved { try context.commit() }
        }
        return (stack, handle)
    }

    @Test("Eight levels are answered, for saved and unsaved rows", arguments: [true, false])
    func eightLevels(_ isSaved: Bool) async throws {
        let (stack, handle) = try await stack(isSaved: isSaved)
        for (name, nest) in Self.nestings {
            for depth in 1...8 {
                let found = try await handle.perform { context in
                    try context.column(Knot.where { condition(depth, $0, nest) }, \.number).sorted()
                }
                // A knot without children meets any condition about all of its children.
                let expected = name == "all" ? Array(10 - depth + 1...10) + [100] : [10 - depth + 1]
                #expect(found == expected, "\(name), \(depth)")
            }
        }
        for depth in 1...6 {
            let found = try await handle.perform { context in
                try context.column(Knot.where { condition(depth, $0, Self.alternating) }, \.number)
            }
            #expect(found == [10 - depth + 1], "\(depth)")
        }
        try await stack.close()
    }

    @Test("Deeper levels are refused with an error that says what to do")
    func tooDeep() async throws {
        let (stack, handle) = try await stack(isSaved: true)
        for (name, nest) in Self.nestings {
            for depth in [14, 20, 40] {
                let error = try await handle.perform { context in
                    #expect(throws: StrataError.self) {
                        _ = try context.count(Knot.where { condition(depth, $0, nest) })
                    }
                }
                #expect(error?.code == .invalidQuery, "\(name), \(depth)")
                #expect(error?.message.contains("nested") == true, "\(name), \(depth)")
            }
        }
        let walk = try await handle.perform { context in
            #expect(throws: StrataError.self) {
                _ = try context.count(Knot.where { Self.parent(of: $0.parent, 70).number == 1 })
            }
        }
        #expect(walk?.code == .invalidQuery && walk?.message.contains("to-one relationships") == true)
        try await stack.close()
    }

    private static func parent(of knot: ToOne<Knot, Knot>, _ steps: Int) -> ToOne<Knot, Knot> {
        steps == 0 ? knot : parent(of: knot.parent, steps - 1)
    }
}
