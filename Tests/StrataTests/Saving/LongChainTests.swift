import Foundation
import Testing

@testable import Strata

@Model final class Step {
    var number: Int
    var previous: Step?
    @Relationship(deleteRule: .cascade, inverse: \Step.previous) var next: Many<Step>
}

/// Chains that are too long for recursion on the call stack.
@Suite("Long chains")
struct LongChainTests {
    private static let length = 20_000

    private func open() async throws -> ContextStack {
        try await ContextStack.open(.inMemory, models: [Step.self], stack: .rootOnly)
    }

    @Test("A long chain of new objects is inserted as a whole, and a cascade deletes it")
    func chain() async throws {
        let stack = try await open()
        try await stack.background { context in
            var last: Step?
            for number in 0..<Self.length { last = Step(number: number, previous: last) }
            context.insert(try #require(last))
            try context.commit()
            let count = try context.count(Step.self)
            #expect(count == Self.length)
        }
        try await stack.background { context in
            let first = try #require(try context.first(Step.where { $0.previous == nil }))
            context.delete(first)
            let count = try context.count(Step.self)
            #expect(count == 0)
            try context.commit()
        }
        let count = try await stack.background { try $0.count(Step.self) }
        #expect(count == 0)
    }

    @Test("A commit deletes a long chain that its context has not seen")
    func unseenChain() async throws {
        let stack = try await open()
        try await stack.background { context in
            let first = context.insert(Step(number: 0))
            try context.commit()
            let id = first.id
            context.delete(first)
            try await stack.background(parent: .named(.root)) { other in
                var last = try #require(try other.find(id))
                for number in 1..<Self.length {
                    let step = other.insert(Step(number: number))
                    step.previous = last
                    last = step
                }
                try other.commit()
            }
            try context.commit()
            let count = try context.count(Step.self)
            #expect(count == 0)
        }
    }
}
