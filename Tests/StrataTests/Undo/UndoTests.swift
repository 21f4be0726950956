import Foundation
import StoreModels
import Strata
import Testing

@Suite("Undo and redo") struct UndoTests {
    /// A list of two items, and a third item outside of the list.
    private func openList() async throws -> ContextStack {
        let stack = try await ContextStack.open(.inMemory, models: Soak.models, stack: .rootOnly)
        try await stack.on(.root) { context in
            let list = context.insert(Soak.List(name: "list"))
            for label in ["a", "b", "c"] {
                let item = context.insert(Soak.Item(label: label, value: 1))
                if label != "c" { list.items.insert(item) }
            }
            try context.commit()
        }
        return stack
    }

    @Test("An undo restores the position of a member that a parent has added as well")
    func placeOfMemberAddedTwice() async throws {
        let stack = try await openList()
        let child = try stack.create(.private, named: "child")
        for context in [child, try stack[.root]] {
            try await context.perform { context in
                let item = try #require(try context.first(Soak.Item.where { $0.label == "c" }))
                try #require(try context.first(Soak.List.all)).items.insert(item)
            }
        }
        try await child.perform { context in
            context.undoLevels = 1
            let list = try #require(try context.first(Soak.List.all))
            let before = try list.items.fetch()
            #expect(before.map(\.label) == ["a", "b", "c"])
            try context.undoGroup { try list.items.move(before[2], before: before[0]) }
            let moved = try list.items.fetch().map(\.label)
            #expect(moved == ["c", "a", "b"])
            try context.undo()
            let undone = try list.items.fetch().map(\.label)
            #expect(undone == ["a", "b", "c"])
            try context.redo()
            let redone = try list.items.fetch().map(\.label)
            #expect(redone == ["c", "a", "b"])
        }
        try await stack.close()
    }

    @Test(
        "An undo restores a member that was added twice at the position where it was shown",
        arguments: [false, true],
        [false, true]
    )
    func removalOfMemberAddedTwice(isDeleted: Bool, isStoredFirst: Bool) async throws {
        let stack = try await openList()
        func add(_ context: ObjectContext) throws -> Many<Soak.Item> {
            let item = try #require(try context.first(Soak.Item.where { $0.label == "c" }))
            let items = try #require(try context.first(Soak.List.all)).items
            items.insert(item)
            return items
        }
        let other = try stack.create(.private, named: "other", reads: .committed)
        let root: ContextHandle = try stack[.root]
        for handle in isStoredFirst ? [other, root] : [root, other] {
            try await handle.perform { context in
                let items = try add(context)
                if handle !== root { return }
                let members = try items.fetch()
                try items.move(try #require(members.last), before: members[0])
            }
        }
        try await other.perform { try $0.commit() }
        let child = try stack.create(.private, named: "child")
        try await child.perform { context in
            context.undoLevels = 1
            let items = try #require(try context.first(Soak.List.all)).items
            let before = try items.fetch()
            #expect(before.map(\.label) == ["c", "a", "b"])
            context.undoGroup { if isDeleted { context.delete(before[0]) } else { items.remove(before[0]) } }
            for _ in 0..<2 {
                let removed = try items.fetch().map(\.label)
                #expect(removed == ["a", "b"])
                try context.undo()
                let undone = try items.fetch().map(\.label)
                #expect(undone == ["c", "a", "b"])
                try context.redo()
            }
            try context.undo()
            try context.commit()
        }
        try await root.perform { context in
            // The parent's own membership row is not committed, so the rollback drops it. The undo has also restored
            // the other row.
            context.rollback()
            let left = try #require(try context.first(Soak.List.all)).items.fetch().map(\.label)
            #expect(left == ["a", "b", "c"])
        }
        try await stack.close()
    }

    @Test("Undo is off by default")
    func off() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            context.insert(Author(name: "a"))
            #expect(!context.canUndo)
            let isUndone = try context.undo()
            #expect(!isUndone)
            #expect(try context.count(Author.all) == 1)
        }
        try await stack.close()
    }

    @Test(
        "Undo and redo work for inserts, updates, deletes with their rules, and members, before and after commits",
        arguments: [false, true]
    )
    func kinds(isCommitting: Bool) async throws {
        let stack = try await openStack(.rootOnly)
        try stack.create(.private, named: .network)
        func step(_ body: @escaping @Sendable (SavingContext) throws -> Void) async throws {
            try await stack.on(.network) { context in
                try body(context)
                if isCommitting { try context.commit() }
            }
        }
        func state() async throws -> [String] {
            try await stack.on(.network) { context in
                let authors = try context.fetch(Author.all).map { author in
                    "\(author.name) \(author.fee ?? 0) \(try author.articles.fetch().map(\.title).sorted())"
                }
                let writers = try context.fetch(Writer.all).map { "\($0.name) \(try $0.spouses.fetch().map(\.name))" }
                return authors + writers + (try context.fetch(Seal.all).map { "\($0.color) \($0.contract != nil)" })
            }
        }
        try await stack.on(.network) { $0.undoLevels = 50 }
        var states = [try await state()]
        let steps: [@Sendable (SavingContext) throws -> Void] = [
            { context in
                let author = context.insert(Author(name: "a"))
                context.insert(Article(title: "t1", author: author))
                context.insert(Article(title: "t2", author: author))
                context.insert(Seal(color: "red", contract: context.insert(Contract(title: "c"))))
            },
            { context in try #require(try context.first(Author.all)).name = "b" },
            { context in try #require(try context.first(Author.all)).fee = 3 },
            { context in
                let writer = context.insert(Writer(name: "w"))
                for name in ["x", "y", "z"] { writer.spouses.insert(context.insert(Spouse(name: name))) }
            },
            { context in
                let writer = try context.first(Writer.all)!
                let spouses = try writer.spouses.fetch()
                try writer.spouses.move(spouses[2], before: spouses[0])
            },
            { context in
                let writer = try context.first(Writer.all)!
                writer.spouses.remove(try writer.spouses.fetch()[1])
            },
            { context in context.delete(try context.first(Contract.all)!) },
            { context in context.delete(try context.first(Author.all)!) },
            { context in context.delete(try context.first(Writer.all)!) },
        ]
        for body in steps {
            try await step(body)
            states.append(try await state())
        }
        #expect(Set(states).count == states.count)
        for _ in 0..<2 {
            for index in states.indices.dropLast().reversed() {
                try await step { _ = try $0.undo() }
                let now = try await state()
                #expect(now == states[index], "undo to \(index)")
            }
            try await stack.on(.network) { #expect(!$0.canUndo) }
            for index in states.indices.dropFirst() {
                try await step { _ = try $0.redo() }
                let now = try await state()
                #expect(now == states[index], "redo to \(index)")
            }
            try await stack.on(.network) { #expect(!$0.canRedo) }
        }
        try await stack.commit(.network)
        #expect(try await state() == states.last)
        try await stack.close()
    }

    @Test("An undo leaves later changes by others in place")
    func others() async throws {
        let stack = try await openStack(.rootOnly)
        try stack.create(.private, named: .network)
        let id = try await stack.on(.network) { context in
            let author = context.insert(Author(name: "a", fee: 1))
            try context.commit()
            context.undoLevels = 10
            author.name = "b"
            author.fee = 2
            try context.commit()
            return author.id
        }
        try await stack.background { context in
            try #require(try context.find(id)).fee = 9
            try context.commit()
        }
        try await stack.on(.network) { context in
            try context.undo()
            let author = try #require(try context.find(id))
            #expect(author.name == "a")
            #expect(author.fee == 9)
            try context.commit()
            try context.redo()
            #expect(author.name == "b" && author.fee == 9)
        }
        // An undo of an edit does not bring back an object that another context has deleted.
        try await stack.background { context in
            context.delete(try #require(try context.find(id)))
            try context.commit()
        }
        try await stack.on(.network) { context in
            let (isUndone, author) = (try context.undo(), try context.find(id))
            #expect(isUndone && author == nil)
        }
        try await stack.close()
    }

    @Test("Edits form groups by block or by name, a new edit ends redo, and the number of groups is bounded")
    func groups() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.on(.root) { context in
            context.undoLevels = 3
            let author = context.insert(Author(name: "0"))
            try context.undoGroup(named: "rename") {
                author.name = "1"
                // A query publishes the edits, but the group continues.
                _ = try context.count(Author.all)
                context.undoGroup(named: "inner") { author.name += "1" }
                author.fee = 1
            }
            #expect(context.undoName == "rename")
            author.name = "2"
            try context.undo()
            #expect(author.name == "11")
            try context.undo()
            #expect(author.name == "0" && author.fee == nil)
            #expect(context.redoName == "rename")
            try context.redo()
            #expect(author.name == "11" && author.fee == 1 && context.undoName == "rename")
            try context.redo()
            #expect(author.name == "2")
            try context.undo()
            author.name = "3"
            #expect(!context.canRedo)
            for index in 4..<10 { context.undoGroup { author.name = "\(index)" } }
            var undone = 0
            while try context.undo() { undone += 1 }
            #expect(undone == 3 && author.name == "6")
            context.rollback()
            #expect(!context.canUndo && !context.canRedo)
            context.undoLevels = 0
        }
        try await stack.close()
    }

    @Test("An undo of a saved delete keeps the values that others have committed meanwhile")
    func savedDelete() async throws {
        let stack = try await openStack(.rootOnly)
        let id = try await stack.on(.root) { context in
            let author = context.insert(Author(name: "a", fee: 1))
            try context.commit()
            return author.id
        }
        try stack.create(.private, named: .network)
        try await stack.on(.network) { context in
            context.undoLevels = 5
            context.delete(try #require(try context.find(id)))
            try context.save()
        }
        try await stack.create(.private, named: .other, reads: .committed).perform { context in
            try #require(try context.find(id)).fee = 9
            try context.commit()
        }
        try await stack.on(.network) { context in
            try context.undo()
            #expect(try context.find(id)?.name == "a")
            try context.save()
        }
        try await stack.commit(.root)
        let rows = try await stack.background { try $0.rows(Author.all) }
        #expect(rows.map(\.name) == ["a"] && rows.map(\.fee) == [9])
        try await stack.close()
    }

    @Test("The removal of a member and its addition before a save can both be undone and redone")
    func removedAndAddedAgain() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.on(.root) { context in
            let writer = context.insert(Writer(name: "writer"))
            let spouses = ["first", "second"].map { context.insert(Spouse(name: $0)) }
            for spouse in spouses { writer.spouses.insert(spouse) }
            try context.commit()
            context.undoLevels = 10
            func names() throws -> [String] { try writer.spouses.fetch().map(\.name) }
            // The last member comes back to its old position, which is not an edit. The first member comes back at the
            // end.
            for (spouse, added) in [(spouses[1], ["first", "second"]), (spouses[0], ["second", "first"])] {
                let before = try names()
                context.undoGroup { writer.spouses.remove(spouse) }
                let removed = try names()
                context.undoGroup { writer.spouses.insert(spouse) }
                #expect(try names() == added)
                for (isUndo, expected) in [
                    (true, removed), (true, before), (false, removed), (false, added), (true, removed), (true, before),
                ] {
                    #expect(try isUndo ? context.undo() : context.redo())
                    let shown = try names()
                    #expect(shown == expected)
                }
            }
        }
        try await stack.close()
    }

    @Test("An undo does not take back again what a failed savepoint took back")
    func savepoints() async throws {
        struct Stop: Error {}
        let stack = try await openStack(.rootOnly)
        try await stack.on(.root) { context in
            context.undoLevels = 10
            let author = context.insert(Author(name: "a"))
            context.undoGroup { author.name = "b" }
            #expect(throws: Stop.self) {
                try context.savepoint {
                    author.name = "c"
                    throw Stop()
                }
            }
            try context.undo()
            #expect(author.name == "a")
        }
        try await stack.close()
    }
}
