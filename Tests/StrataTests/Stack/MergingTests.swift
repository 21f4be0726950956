import Foundation
import StoreModels
import Testing

@testable import Strata

@Suite("Merging others' changes into a context") struct MergingTests {
    private enum Kept: ContextStateKey { typealias Value = Author }

    /// A stack with one author in the store. A context of each merging mode holds the author.
    private func setUp() async throws -> (stack: ContextStack, id: ObjectID<Author>) {
        let stack = try await openStack(.rootOnly)
        let id = try await stack.on(.root) { context in
            let author = context.insert(Author(name: "old"))
            try context.commit()
            return author.id
        }
        try stack.create(.private, named: "now", merging: .now)
        try stack.create(.private, named: "later")
        try stack.create(.private, named: "pinned", merging: .pinned)
        for name: ContextName in ["now", "later", "pinned"] {
            try await stack.on(name) { $0.state[Kept.self] = try $0.find(id) }
        }
        return (stack, id)
    }

    private func rename(_ id: ObjectID<Author>, _ name: String, _ stack: ContextStack) async throws {
        try await stack.background { context in
            try context.find(id)?.name = name
            try context.commit()
        }
    }

    /// The name that a context's object shows without entering the context.
    private func shown(_ name: ContextName, _ stack: ContextStack) async throws -> String? {
        let owner = try stack[name].owner
        return await owner.shownName(Kept.self)
    }

    @Test("A context merges others' changes at once, at its next block, or only when asked, as declared")
    func modes() async throws {
        let (stack, id) = try await setUp()
        try await rename(id, "new", stack)
        #expect(try await eventually { try await shown("now", stack) == "new" })
        #expect(try await shown("later", stack) == "old")
        #expect(try await stack.on("later") { $0.state[Kept.self]?.name } == "new")
        try await stack.on("pinned") { context in
            #expect(context.state[Kept.self]?.name == "old")
            #expect(try context.count(Author.where { $0.name == "old" }) == 1)
            #expect(try context.find(id)?.name == "old")
            try context.merge()
            #expect(context.state[Kept.self]?.name == "new")
            #expect(try context.count(Author.where { $0.name == "new" }) == 1)
        }
        try await stack.close()
    }

    @Test("A context that merges at once also merges saves into its parent")
    func saves() async throws {
        let (stack, id) = try await setUp()
        try await stack.background(parent: .named(.root)) { context in
            try context.find(id)?.name = "saved"
            try context.save()
        }
        // All these contexts are children of the root.
        #expect(try await eventually { try await shown("now", stack) == "saved" })
        #expect(try await stack.on("pinned") { try $0.find(id)?.name } == "old")
        try await stack.close()
    }

    @Test("A context that merges at once shows changes made during its asynchronous block after the block has ended")
    func asynchronousBlock() async throws {
        let (stack, id) = try await setUp()
        let (inside, go) = (Signal(), Signal())
        let block = Task {
            try await stack.on("now") { _ async throws in
                inside.set()
                await go.wait()
            }
        }
        await inside.wait()
        try await rename(id, "new", stack)
        // The refresh is due, and finds the running block.
        let isShown = try await eventually(within: 0.05) { try await shown("now", stack) == "new" }
        #expect(!isShown)
        go.set()
        try await block.value
        #expect(try await eventually { try await shown("now", stack) == "new" })
        try await stack.close()
    }

    @Test("A context that merges at once is refreshed when its parent undoes a delete")
    func undoneDelete() async throws {
        let (stack, id) = try await setUp()
        let layers = stack.core.engine.layers
        let refreshes = Journal()
        // The refresh function of another context that merges at once.
        layers.watch(.max) { refreshes.add("refresh") }
        try await stack.on(.root) { context in
            context.undoLevels = 10
            let author = try #require(try context.find(id))
            context.undoGroup { context.delete(author) }
        }
        _ = layers.startTracking(.max)
        #expect(refreshes.all.isEmpty)
        try await stack.on(.root) { context in
            let isUndone = try context.undo()
            let name = try context.find(id)?.name
            #expect(isUndone && name == "old")
        }
        #expect(!refreshes.all.isEmpty)
        layers.track(.max, cursor: nil)
        try await stack.close()
    }

    @Test("A pinned context keeps its own edits and its children's saves on top of its state, and rolls them back")
    func pinnedEdits() async throws {
        let (stack, id) = try await setUp()
        try await rename(id, "new", stack)
        let other = try await stack.on("pinned") { context in
            let author = try #require(context.state[Kept.self])
            author.fee = 5
            return context.insert(Author(name: "mine")).id
        }
        try await rename(id, "newer", stack)
        try await stack.background(parent: .named("pinned")) { context in
            // A child sees the newest state, with its parent's edits.
            #expect(try context.find(id)?.fee == 5)
            try context.find(id)?.fee = 6
            try context.save()
        }
        try await stack.on("pinned") { context in
            let author = try #require(context.state[Kept.self])
            #expect(author.name == "old")
            #expect(author.fee == 6)
            #expect(try context.count(Author.where { $0.fee == 6 && $0.name == "old" }) == 1)
            #expect(try context.count(Author.all) == 2)
            context.rollback(includingSaved: true)
            #expect(author.name == "old")
            #expect(author.fee == nil)
            #expect(try context.find(other) == nil)
            #expect(try context.count(Author.all) == 1)
        }
        try await stack.close()
    }

    @Test("A save of a pinned context moves it to the newest state and conflicts with changes made by others meanwhile")
    func pinnedSave() async throws {
        let (stack, id) = try await setUp()
        try await rename(id, "new", stack)
        try await stack.on("pinned") { context in
            let author = try #require(context.state[Kept.self])
            author.name = "mine"
            for commit in [true, false] {
                let error = #expect(throws: StrataError.self) { commit ? try context.commit() : try context.save() }
                #expect(error?.code == .conflict)
                #expect(error?.details.first?.theirs == .text("new") && error?.details.first?.base == .text("old"))
            }
            #expect(author.name == "mine")
            author.fee = 3
            context.mergePolicy = .mine
            try context.commit()
        }
        #expect(try await stack.background { try $0.find(id)?.name } == "mine")
        try await rename(id, "last", stack)
        #expect(try await stack.on("pinned") { $0.state[Kept.self]?.name } == "mine")
        try await stack.close()
    }

    @Test("After a commit, a context keeps only objects that other code holds, if others have changed much meanwhile")
    func unheld() async throws {
        let (stack, id) = try await setUp()
        try await stack.background { context in
            let held = try #require(try context.find(id))
            for number in 0..<20 {
                // The commits of others, which this context has not looked at, are more than its objects.
                try waitForTask { for _ in 0..<5 { try await rename(id, "\(number)", stack) } }
                context.insert(Author(name: "mine \(number)"))
                try context.commit()
                #expect(held.name == "\(number)")
                #expect(context.live.identity.count <= 2)
            }
            #expect(try context.find(id) === held)
            #expect(try context.count(Author.all) == 21)
            held.name = "last"
            try context.commit()
        }
        #expect(try await stack.background { try $0.find(id)?.name } == "last")
        try await stack.close()
    }

    @Test("A context without objects is at the end of the log after its commit")
    func withoutObjects() async throws {
        let (stack, id) = try await setUp()
        let child = try stack.create(.private)
        try await child.perform { context in
            for number in 0..<3 {
                context.insert(Author(name: "mine"))
                try waitForTask { for _ in 0..<5 { try await rename(id, "\(number)", stack) } }
                try context.commit()
                #expect(context.live.identity.count == 0)
                #expect(context.store.layers.isCurrent(context.reading.cursor.event))
            }
            // What it reads now is the newest state, and its edits meet the changes that follow.
            let author = try #require(try context.find(id))
            #expect(author.name == "2")
            author.fee = 7
            try waitForTask { try await rename(id, "theirs", stack) }
            try context.commit()
            #expect(author.name == "theirs" && author.fee == 7)
        }
        try await stack.close()
    }

    @Test("An edit meets all changes since its base, even if Strata has already discarded the events of those changes")
    func forgotten() async throws {
        let (stack, id) = try await setUp()
        try await rename(id, "new", stack)
        for index in 0..<CommitLog.eventLimit {
            try await stack.on(.root) { context in
                context.insert(Citation(journal: "\(index)"))
                context.publish()
            }
        }
        try await stack.on("pinned") { context in
            try #require(context.state[Kept.self]).name = "mine"
            let error = #expect(throws: StrataError.self) { try context.save() }
            #expect(error?.code == .conflict)
        }
        try await stack.close()
    }
}

extension ContextOwner {
    fileprivate func shownName<Key: ContextStateKey>(_ key: Key.Type) -> String? where Key.Value == Author {
        context?.state[key]?.name
    }
}
