import Foundation
import Testing

@testable import Strata

@Model private final class Tray {
    var name: String
    var parent: Tray?
    @Relationship(deleteRule: .cascade, inverse: \Tray.parent) var trays: Many<Tray>
    @Relationship(deleteRule: .cascade, inverse: \Leaf.tray, ordered: true) var leaves: Many<Leaf>
}

@Model private final class Leaf {
    var number: Int
    var tray: Tray?
    @Relationship(deleteRule: .cascade, inverse: \Remark.leaf) var remarks: Many<Remark>
    @Relationship(deleteRule: .cascade, inverse: \Sticker.leaves) var stickers: Many<Sticker>
    @Relationship(deleteRule: .cascade) var wrapper: Wrapper?
}

@Model private final class Remark {
    var text: String
    var leaf: Leaf?
    @Relationship(inverse: \Answer.remark) var answers: Many<Answer>
}

@Model private final class Answer {
    var text: String
    var remark: Remark?
}

@Model private final class Sticker {
    var color: String
    var leaves: Many<Leaf>
}

@Model private final class Wrapper {
    var title: String

    func didFetch(in context: ObjectContext) { context.state[Fetched.self] = (context.state[Fetched.self] ?? 0) + 1 }
}

private enum Fetched: ContextStateKey { typealias Value = Int }

/// Deletes that cascade over several levels and kinds of relationships.
@Suite("Cascading deletes", .timeLimit(.minutes(2)))
struct CascadeTests {
    private static let models: [any Model.Type] = [
        Tray.self, Leaf.self, Remark.self, Answer.self, Sticker.self, Wrapper.self,
    ]

    private func open() async throws -> ContextStack {
        try await ContextStack.open(.inMemory, models: Self.models)
    }

    /// A tray with `count` leaves. Each leaf has a remark, an answer and a wrapper, and every two leaves share a
    /// sticker.
    @discardableResult
    private func fill(_ name: String, _ count: Int, _ context: ObjectContext) -> Tray {
        let tray = context.insert(Tray(name: name))
        var sticker: Sticker?
        for number in 0..<count {
            let leaf = context.insert(Leaf(number: number, tray: tray))
            leaf.wrapper = context.insert(Wrapper(title: "\(name) \(number)"))
            context.insert(Answer(text: "r", remark: context.insert(Remark(text: "n", leaf: leaf))))
            if number % 2 == 0 { sticker = context.insert(Sticker(color: "\(name) \(number)")) }
            if let sticker { leaf.stickers.insert(sticker) }
        }
        return tray
    }

    private func counts(_ context: ObjectContext) throws -> [Int] {
        [
            try context.count(Tray.all), try context.count(Leaf.all), try context.count(Remark.all),
            try context.count(Sticker.all), try context.count(Wrapper.all), try context.count(Answer.all),
            try context.count(Answer.where { $0.remark != nil }),
        ]
    }

    /// The statements that run when a context deletes a tray with `count` leaves: at the delete, its save, and its
    /// commit.
    private func statements(_ count: Int, isPending: Bool) async throws -> [Int] {
        let stack = try await open()
        try await stack.background(parent: .named(.root)) { context in
            fill("gone", count, context)
            fill("stays", 3, context)
            try context.commit()
        }
        let result = try await stack.background { context in
            if isPending { for remark in try context.fetch(Remark.all) { remark.text = "changed" } }
            let tray = try #require(try context.first(Tray.where { $0.name == "gone" }))
            let connection = try context.currentConnection()
            var counts = [connection.statementCount]
            context.delete(tray)
            _ = try context.count(Leaf.all)
            counts.append(connection.statementCount)
            try context.save()
            counts.append(connection.statementCount)
            #expect(try context.currentConnection() === connection)
            return zip(counts.dropFirst(), counts).map { $0 - $1 }
        }
        func writerCount() throws -> Int {
            var count = 0
            try stack.core.engine.write(for: { "test" }) { connection in
                count = connection.statementCount
                return []
            }
            return count
        }
        let before = try writerCount()
        try await stack.save()
        let after = try writerCount()
        let left = try await stack.background { try counts($0) }
        #expect(left == [1, 3, 3, 2, 3, count + 3, 3])
        try await stack.close()
        return result + [after - before]
    }

    @Test(
        "The number of statements of a delete depends on relationships and levels, not on the number of objects",
        arguments: [false, true]
    )
    func statements(isPending: Bool) async throws {
        let few = try await statements(10, isPending: isPending)
        let many = try await statements(200, isPending: isPending)
        #expect(few == many)
    }

    @Test("A cascade creates no objects, and the objects in use that it reaches are deleted")
    func objects() async throws {
        let stack = try await open()
        try await stack.background { context in
            fill("f", 20, context)
            try context.commit()
        }
        try await stack.background { context in
            let tray = try #require(try context.first(Tray.all))
            let leaf = try #require(try context.first(Leaf.where { $0.number == 7 }))
            let remark = try #require(try leaf.remarks.first)
            remark.text = "edited"
            let answer = try #require(try remark.answers.first)
            context.delete(tray)
            #expect(leaf.isDeleted && remark.isDeleted && !answer.isDeleted && answer.remark == nil)
            #expect(context.state[Fetched.self] == nil)
            #expect(try counts(context) == [0, 0, 0, 0, 0, 20, 0])
            context.rollback([tray])
            #expect(!leaf.isDeleted && leaf.number == 7 && answer.remark === remark)
            #expect(try counts(context) == [1, 20, 20, 10, 20, 20, 20])
            context.delete(tray)
            try context.commit()
            #expect(try counts(context) == [0, 0, 0, 0, 0, 20, 0])
        }
        try await stack.close()
    }

    @Test(
        "Undo restores all levels of a cascade, and redo deletes them again, before and after saves",
        arguments: [false, true]
    )
    func undo(isSaving: Bool) async throws {
        let stack = try await open()
        try await stack.background { context in
            let tray = fill("f", 20, context)
            context.insert(Leaf(number: 100, tray: context.insert(Tray(name: "inner", parent: tray))))
            try context.commit()
        }
        try await stack.background { context in
            context.undoLevels = 5
            let all = try counts(context)
            let outer = try #require(try context.first(Tray.where { $0.parent == nil }))
            context.undoGroup { context.delete(outer) }
            let none = try counts(context)
            #expect(none == [0, 0, 0, 0, 0, 20, 0])
            for _ in 0..<2 {
                if isSaving { try context.save() }
                try context.undo()
                #expect(try counts(context) == all)
                if isSaving { try context.save() }
                try context.redo()
                #expect(try counts(context) == none)
            }
            try context.undo()
            try context.commit()
            #expect(try counts(context) == all)
            let tray = try #require(try context.first(Tray.where { $0.parent == nil }))
            let numbers = try tray.leaves.fetch().map(\.number)
            #expect(numbers == Array(0..<20))
        }
        try await stack.close()
    }

    @Test("A cascading delete and a batch delete of the same objects leave the same rows", arguments: 1...12)
    func randomGraph(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }
        let trays = (0..<30).map { index -> Int? in index == 0 || pick(4) == 0 ? nil : pick(index) }
        let leaves = (0..<60).map { _ -> (tray: Int, stickers: (Int, Int), wrapper: Int?) in
            (pick(30), (pick(20), pick(20)), pick(3) == 0 ? nil : pick(40))
        }
        let remarks = (0..<80).map { _ in pick(60) }
        /// Leaves that the context moves to other trays before the delete.
        let moved = (0..<15).map { _ in (leaf: pick(60), tray: pick(30)) }
        let known = Set((0..<20).map { _ in pick(60) })
        let isSaved = pick(2) == 0
        @Sendable func build(_ context: SavingContext) throws {
            var made: [Tray] = []
            for (index, parent) in trays.enumerated() {
                made.append(context.insert(Tray(name: "\(index)", parent: parent.map { made[$0] })))
            }
            let stickers = (0..<20).map { context.insert(Sticker(color: "\($0)")) }
            let wrappers = (0..<40).map { context.insert(Wrapper(title: "\($0)")) }
            let pages = leaves.enumerated().map { index, leaf in
                let page = context.insert(Leaf(number: index, tray: made[leaf.tray]))
                page.wrapper = leaf.wrapper.map { wrappers[$0] }
                page.stickers.insert(stickers[leaf.stickers.0])
                page.stickers.insert(stickers[leaf.stickers.1])
                return page
            }
            for (index, leaf) in remarks.enumerated() {
                context.insert(
                    Answer(text: "\(index)", remark: context.insert(Remark(text: "\(index)", leaf: pages[leaf])))
                )
            }
            try context.commit()
        }
        @Sendable func move(_ context: ObjectContext) throws {
            for (leaf, tray) in moved {
                let page = try #require(try context.first(Leaf.where { $0.number == leaf }))
                page.tray = try context.first(Tray.where { $0.name == "\(tray)" })
            }
        }
        @Sendable func state(_ context: ObjectContext) throws -> [[String]] {
            [
                try context.rows(Tray.all).map(\.name), try context.rows(Leaf.all).map { "\($0.number)" },
                try context.rows(Remark.all).map(\.text), try context.rows(Sticker.all).map(\.color),
                try context.rows(Wrapper.all).map(\.title),
                try context.rows(Answer.all).map { "\($0.text) \($0.remark != nil)" },
                try context.fetch(Leaf.all).map { "\(try $0.stickers.count)" },
            ].map { $0.sorted() }
        }
        var states: [[[String]]] = []
        for isBatch in [true, false] {
            let stack = try await open()
            try await stack.background { try build($0) }
            if isBatch {
                try await stack.background { context in
                    try move(context)
                    try context.commit()
                    try context.batchDelete(Tray.where { $0.name == "0" })
                }
            } else {
                try await stack.background { context in
                    try move(context)
                    if isSaved { try context.save() }
                    let held = try context.fetch(Leaf.all).filter { known.contains($0.number) }
                    context.delete(try #require(try context.first(Tray.where { $0.name == "0" })))
                    let left = try context.ids(Leaf.all)
                    for leaf in held { #expect(leaf.isDeleted == !left.contains(leaf.id)) }
                    let shown = try state(context)
                    if isSaved { try context.save() }
                    try context.commit()
                    #expect(try state(context) == shown)
                }
            }
            states.append(try await stack.background { try state($0) })
            try await stack.close()
        }
        #expect(states[0] == states[1], "seed \(seed)")
    }
}
