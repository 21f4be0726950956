import Foundation
import Synchronization
import Testing

@testable import Strata

/// Chains of contexts, contexts that continue during a commit, and other processes.
@Suite struct ChainAndProcessTests {
    @Test("stack.save() commits all layers at once; if it fails, every layer stays as it was")
    func chain() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .root, a: 2)
        try await fixture.edit(id, in: .main, b: 3)
        let writer = try await fixture.stack.on(.root) { $0.insert(Writer(name: "")).id }
        await #expect(throws: StrataError.self) { try await fixture.stack.save() }
        #expect(try fixture.stored(id) == [1, 0, 0])
        #expect(try await fixture.values(id, in: .root) == [2, 0, 0])
        #expect(try await fixture.values(id, in: .main) == [2, 3, 0])
        try await fixture.stack.on(.root) { try $0.find(writer)?.name = "w" }
        try await fixture.stack.save()
        #expect(try fixture.stored(id) == [2, 3, 0])
        for name in [ContextName.root, .main] { #expect(try await fixture.stack.on(name) { !$0.hasChanges }) }
        try await fixture.close()
    }

    @Test("A chain's commit includes changes that a context saves while the chain beneath it is being prepared")
    func savedMeanwhile() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .main, a: 2)
        let (root, main) = (try fixture.stack[.root], try fixture.stack[.main])
        let ready = try await root.run(stack: [root]) { try $0.prepareForChain() }
        defer { fixture.stack.core.engine.layers.thaw(ready.segments) }
        try await fixture.stack.save(.main)
        try await main.commit(with: [root.id: ready])
        #expect(try fixture.stored(id) == [2, 0, 0])
        for name in [ContextName.root, .main] { #expect(try await fixture.stack.on(name) { !$0.hasChanges }) }
        try await fixture.close()
    }

    /// The names of the `afterCommit` bodies that have run.
    private final class Bodies: Sendable {
        private let names = Mutex<Set<String>>([])

        func body(_ name: String) -> @Sendable () async -> Void { { self.names.withLock { _ = $0.insert(name) } } }

        /// Expects that these bodies run, and no others.
        func expect(_ expected: Set<String>, location: SourceLocation = #_sourceLocation) async throws {
            for _ in 0..<1_000 where names.withLock({ !$0.isSuperset(of: expected) }) {
                try await Task.sleep(for: .milliseconds(5))
            }
            // The bodies of one commit start together.
            try await Task.sleep(for: .milliseconds(20))
            #expect(names.withLock { $0 } == expected, sourceLocation: location)
        }
    }

    @Test("A chain's commit runs the bodies of the changes that it stores, and no others")
    func bodiesOfChain() async throws {
        let fixture = try await SavingFixture()
        let (root, main) = (try fixture.stack[.root], try fixture.stack[.main])
        let bodies = Bodies()
        @Sendable func insert(_ name: String, in context: ObjectContext) {
            context.insert(Writer(name: name))
            context.afterCommit(bodies.body(name))
        }
        try await fixture.stack.on(.root) { insert("root", in: $0) }
        try await fixture.stack.on(.main) { insert("main", in: $0) }
        let ready = try await root.run(stack: [root]) { try $0.prepareForChain() }
        defer { fixture.stack.core.engine.layers.thaw(ready.segments) }
        // A child saves to the prepared context, and so does the context that commits.
        try await fixture.stack.background(parent: .context(root)) { context in
            insert("child", in: context)
            try context.save()
        }
        try await fixture.stack.on(.main) { context in
            insert("saved", in: context)
            try context.save()
        }
        try await main.commit(with: [root.id: ready])
        try await bodies.expect(["root", "main", "saved"])
        #expect(try fixture.stack.readOverStore { try $0.count(Writer.all) } == 3)
        try await fixture.stack.commit(.root)
        try await bodies.expect(["root", "main", "saved", "child"])
        try await fixture.close()
    }

    @Test("The bodies of a failed commit stay with their changes, and a rollback drops both", arguments: [false, true])
    func bodiesOfFailure(isRolledBack: Bool) async throws {
        let fixture = try await SavingFixture()
        let main = try fixture.stack[.main]
        let bodies = Bodies()
        try await fixture.stack.on(.main) { context in
            context.insert(Writer(name: ""))
            context.afterCommit(bodies.body("refused"))
        }
        await #expect(throws: StrataError.self) { try await fixture.stack.save() }
        await #expect(throws: StrataError.self) { try await main.commit(with: [:]) }
        try await bodies.expect([])
        try await fixture.stack.on(.main) { context in
            if isRolledBack { return context.rollback() }
            for writer in try context.fetch(Writer.all) { writer.name = "w" }
        }
        try await fixture.stack.save()
        try await bodies.expect(isRolledBack ? [] : ["refused"])
        try await fixture.close()
    }

    @Test("A commit of a context that a chain has prepared runs its bodies, also if the chain is given up")
    func bodiesOfOtherCommit() async throws {
        let fixture = try await SavingFixture()
        let root = try fixture.stack[.root]
        let bodies = Bodies()
        try await fixture.stack.on(.root) { context in
            context.insert(Writer(name: "root"))
            context.afterCommit(bodies.body("root"))
        }
        let ready = try await root.run(stack: [root]) { try $0.prepareForChain() }
        try await fixture.stack.commit(.root)
        try await bodies.expect(["root"])
        fixture.stack.core.engine.layers.thaw(ready.segments)
        fixture.stack.core.engine.callbacks.release(ready.callbacks)
        try await fixture.stack.commit(.root)
        try await bodies.expect(["root"])
        try await fixture.close()
    }

    @Test("A delete in a chain conflicts with edits in the layers beneath that it has not seen")
    func deleteInChain() async throws {
        for policy in [MergePolicy.error, .mine, .theirs] {
            let fixture = try await SavingFixture()
            let id = try await fixture.cell(1)
            try await fixture.delete(id, in: .main)
            try await fixture.edit(id, in: .root, c: 2)
            #expect(try await fixture.saveChain(.main, policy) == (policy == .error ? .conflict(id, "c") : .success))
            #expect(try fixture.stored(id) == (policy == .error ? [1, 0, 0] : policy == .mine ? nil : [1, 0, 2]))
            try await fixture.close()
        }
    }

    @Test("In a chain, layers above an edit that .theirs drops have not seen the value beneath that edit")
    func aboveGivenUp() async throws {
        for isDeleted in [false, true] {
            let fixture = try await SavingFixture()
            let id = try await fixture.cell(1)
            try await fixture.edit(id, in: .main, a: 2)
            if isDeleted {
                try await fixture.delete(id, in: .network)
            } else {
                try await fixture.edit(id, in: .network, a: 3, b: 3)
            }
            try await fixture.edit(id, in: .root, a: 4)
            #expect(try await fixture.saveChain(.network) == .conflict(id, "a"))
            #expect(try await fixture.values(id, in: .root) == [4, 0, 0])
            #expect(try await fixture.saveChain(.network, .theirs) == .success)
            #expect(try fixture.stored(id) == (isDeleted ? [4, 0, 0] : [4, 3, 0]))
            try await fixture.close()
        }
    }

    @Test("A background block that is started in main's turn sees the edits of that turn")
    @MainActor func turn() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try fixture.stack.main.find(id)?.a = 2
        let seen = try await fixture.stack.background { try $0.find(id)?.a }
        #expect(seen == 2)
        try await fixture.close()
    }

    @Test("Edits of main during its commit are each written once, and the last value wins")
    @MainActor func editedMeanwhile() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(0)
        let cell = try #require(try fixture.stack.main.find(id))
        for round in 1...40 {
            cell.a = round * 10
            async let commit: Void = fixture.stack.commit(.main)
            for step in 1...3 {
                await Task.yield()
                cell.a = round * 10 + step
                #expect(cell.a == round * 10 + step)
                if round % 4 == 3, step == 2 { try fixture.stack.main.save() }
            }
            try await commit
            #expect(cell.a == round * 10 + 3)
            let fetched = try fixture.stack.main.fetch(Cell.where { $0.a == round * 10 + 3 })
            #expect(fetched.first === cell)
            try await fixture.stack.commit(.main)
            #expect(try fixture.stored(id) == [round * 10 + 3, 0, 0])
        }
        try await fixture.close()
    }

    @Test("A commit of main that fails on the disk puts its changes back beneath the edits made meanwhile")
    @MainActor func failedMeanwhile() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(0)
        let cell = try #require(try fixture.stack.main.find(id))
        cell.a = 1
        let other = try await SavingFixture.open(fixture.url)
        try await other.background { context in
            try context.find(try #require(ObjectID<Cell>(id.description)))?.a = 9
            try context.commit()
        }
        let commit = Task { try await fixture.stack.commit(.main) }
        await Task.yield()
        cell.b = 2
        await #expect(throws: StrataError.self) { try await commit.value }
        #expect(cell.a == 1 && cell.b == 2)
        cell.c = 3
        #expect(try await fixture.commit(.main) == .conflict(id, "a"))
        #expect(try await fixture.commit(.main, .mine) == .success)
        #expect(try fixture.stored(id) == [1, 2, 3])
        try await other.close()
        try await fixture.close()
    }

    @Test("Row versions detect a writer in another process, column by column")
    func otherProcess() async throws {
        for policy in [MergePolicy.error, .mine, .theirs] {
            let fixture = try await SavingFixture()
            let id = try await fixture.cell(1)
            try await fixture.edit(id, in: .network, a: 2, b: 2)
            let other = try await SavingFixture.open(fixture.url)
            try await other.on(.main) { context in
                let cell = try #require(try context.find(id))
                (cell.a, cell.c) = (3, 3)
                try context.commit()
            }
            #expect(try await fixture.values(id, in: .main) == [3, 0, 3])
            #expect(try await fixture.values(id, in: .network) == [2, 2, 3])
            #expect(try await fixture.commit(.network, policy) == (policy == .error ? .conflict(id, "a") : .success))
            let expected = policy == .error ? [3, 0, 3] : policy == .mine ? [2, 2, 3] : [3, 2, 3]
            #expect(try fixture.stored(id) == expected)
            #expect(try await other.on(.main) { try $0.fetch(Cell.all).map(\.a) } == [expected[0]])
            try await other.close()
            try await fixture.close()
        }
    }

    @Test("A row that another process deleted is a conflict for a context that edits it")
    func deletedInOtherProcess() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .network, a: 2)
        let other = try await SavingFixture.open(fixture.url)
        try await other.on(.main) { context in
            context.delete(try #require(try context.find(id)))
            try context.commit()
        }
        #expect(try await fixture.values(id, in: .network) == nil)
        #expect(try await fixture.save(.network) == .conflict(id, "a"))
        #expect(try await fixture.commit(.network) == .conflict(id, "a"))
        #expect(try await fixture.commit(.network, .mine) == .success)
        #expect(try fixture.stored(id) == [2, 0, 0])
        try await other.close()
        try await fixture.close()
    }

    @Test("Edits on top of values that a parent commits do not conflict with those values")
    func ownValuesBelow() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .network, a: 2)
        #expect(try await fixture.save(.network) == .success)
        #expect(try await fixture.save(.main) == .success)
        try await fixture.edit(id, in: .network, a: 3)
        #expect(try await fixture.commit(.root) == .success)
        #expect(try fixture.stored(id) == [2, 0, 0])
        #expect(try await fixture.commit(.network) == .success)
        #expect(try fixture.stored(id) == [3, 0, 0])
        try await fixture.close()
    }
}
