import Dispatch
import Strata
import Testing

/// Saving by single columns: where each value goes, and which context meets the conflict.
@Suite struct SaveAndCommitTests {
    @Test("A save reaches the parent, and a commit reaches the store")
    func saveAndCommit() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .network, a: 2)
        #expect(try await fixture.values(id, in: .main) == [1, 0, 0])
        #expect(try await fixture.save(.network) == .success)
        #expect(try await fixture.values(id, in: .main) == [2, 0, 0])
        #expect(try await fixture.values(id, in: .root) == [1, 0, 0])
        #expect(try fixture.stored(id) == [1, 0, 0])
        try await fixture.edit(id, in: .network, b: 3)
        #expect(try await fixture.commit(.network) == .success)
        #expect(try fixture.stored(id) == [2, 3, 0], "the commit includes the changes that were saved upward before")
        #expect(try await fixture.values(id, in: .root) == [2, 3, 0])
        #expect(try await fixture.stack.on(.main) { !$0.hasChanges })
        try await fixture.close()
    }

    @Test("A parent's unsaved edit stays on top of a child's commit of the same column, with its old base value")
    func editStaysOnTop() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .network, a: 2)
        try await fixture.edit(id, in: .main, a: 3)
        #expect(try await fixture.commit(.network) == .success, "the parent's edit does not conflict with a commit")
        #expect(try fixture.stored(id) == [2, 0, 0])
        #expect(try await fixture.values(id, in: .main) == [3, 0, 0])
        #expect(try await fixture.values(id, in: .root) == [2, 0, 0])
        let outcome = try await fixture.save(.main)
        #expect(outcome == .conflict(id, "a"))
        let detail = try #require(outcome.error?.details.first)
        #expect(detail.base == .integer(1) && detail.mine == .integer(3) && detail.theirs == .integer(2))
        #expect(try await fixture.commit(.main) == .conflict(id, "a"))
        #expect(try await fixture.commit(.main, .mine) == .success)
        #expect(try fixture.stored(id) == [3, 0, 0])
        try await fixture.close()
    }

    @Test("A parent that commits while a child saves into it shows the child's saved values")
    func childSavesBesideCommit() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        let stack = fixture.stack
        let (hasRead, hasSaved) = (AsyncStream<Void>.makeStream(), DispatchSemaphore(value: 0))
        let child = Task {
            for await _ in hasRead.stream { break }
            defer { hasSaved.signal() }
            try await stack.background(parent: .named(.network)) { context in
                try #require(try context.find(id)).a = 2
                try context.save()
            }
        }
        try await stack.on(.network) { context in
            let cell = try #require(try context.find(id))
            context.state[Held.self] = cell
            hasRead.continuation.yield()
            hasSaved.wait()
            cell.b = 3
            try context.commit()
        }
        try await child.value
        try await stack.on(.network) { context in
            let cell = try #require(context.state[Held.self])
            #expect([cell.a, cell.b] == [2, 3])
        }
        #expect(try fixture.stored(id) == [2, 3, 0])
        try await fixture.close()
    }

    private enum Held: ContextStateKey { typealias Value = Cell }

    @Test("A parent's edit on top of a child's saved value stays on top of the child's commit")
    func editOnTopOfSaved() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .network, a: 2)
        #expect(try await fixture.save(.network) == .success)
        try await fixture.edit(id, in: .main, a: 3)
        #expect(try await fixture.commit(.network) == .success)
        #expect(try fixture.stored(id) == [2, 0, 0])
        #expect(try await fixture.values(id, in: .main) == [3, 0, 0])
        // The edit was made on top of the value that the child committed, so nothing conflicts.
        #expect(try await fixture.commit(.main) == .success)
        #expect(try fixture.stored(id) == [3, 0, 0])
        try await fixture.close()
    }

    @Test("Setting the old value again on top of a child's saved value is an edit too")
    func backAgainOnTop() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .network, a: 2)
        #expect(try await fixture.save(.network) == .success)
        try await fixture.edit(id, in: .main, a: 1)
        #expect(try await fixture.commit(.network) == .success)
        #expect(try fixture.stored(id) == [2, 0, 0])
        #expect(try await fixture.values(id, in: .main) == [1, 0, 0])
        try await fixture.close()
    }

    @Test("A parent's edit of one column stays when a child saves and commits another column later")
    func otherColumnOnTop() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .network, a: 2)
        #expect(try await fixture.save(.network) == .success)
        try await fixture.edit(id, in: .main, a: 3)
        try await fixture.edit(id, in: .network, b: 4)
        #expect(try await fixture.save(.network) == .success)
        #expect(try await fixture.commit(.network) == .success)
        #expect(try fixture.stored(id) == [2, 4, 0])
        #expect(try await fixture.values(id, in: .main) == [3, 4, 0])
        try await fixture.close()
    }

    @Test("Columns that the parent has not edited take the committed values, and its edited columns stay pending")
    func otherColumns() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .main, a: 3)
        try await fixture.edit(id, in: .network, b: 2)
        #expect(try await fixture.commit(.network) == .success)
        #expect(try fixture.stored(id) == [1, 2, 0])
        #expect(try await fixture.values(id, in: .main) == [3, 2, 0])
        #expect(try await fixture.commit(.main) == .success)
        #expect(try fixture.stored(id) == [3, 2, 0])
        try await fixture.close()
    }

    @Test("A commit drops the edits of every parent that the child has seen and overwritten")
    func overwritten() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .root, a: 2)
        try await fixture.edit(id, in: .main, a: 3)
        try await fixture.edit(id, in: .network, a: 4)
        #expect(try await fixture.commit(.network) == .success)
        for name in [ContextName.root, .main, .network] {
            #expect(try await fixture.values(id, in: name) == [4, 0, 0])
            #expect(try await fixture.stack.on(name) { !$0.hasChanges })
            #expect(try await fixture.commit(name) == .success)
        }
        #expect(try fixture.stored(id) == [4, 0, 0])
        try await fixture.close()
    }

    @Test("A parent's new value stays on top of a child's commit that has overwritten the parent's earlier value")
    func changedSince() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .main, a: 2)
        try await fixture.edit(id, in: .network, a: 3)
        try await fixture.edit(id, in: .main, a: 4)
        #expect(try await fixture.commit(.network) == .success)
        #expect(try fixture.stored(id) == [3, 0, 0])
        #expect(try await fixture.values(id, in: .main) == [4, 0, 0])
        #expect(try await fixture.commit(.main) == .conflict(id, "a"))
        try await fixture.close()
    }

    @Test("A child's saved changes belong to the parent when the child ends")
    func endedChild() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.stack.background { context in
            try context.find(id)?.a = 2
            try context.save()
        }
        #expect(try await fixture.commit(.main) == .success)
        #expect(try fixture.stored(id) == [2, 0, 0])
        try await fixture.close()
    }

    @Test(
        "A conflict under .error names columns and values and changes nothing; .mine and .theirs decide it",
        arguments: [0, 1]
    )
    func policiesAtSave(_ commits: Int) async throws {
        for policy in [MergePolicy.error, .mine, .theirs] {
            let fixture = try await SavingFixture()
            let id = try await fixture.cell(1, 1, 1)
            try await fixture.edit(id, in: .network, a: 2, b: 2)
            try await fixture.edit(id, in: .main, a: 3, c: 3)
            if commits == 1 { #expect(try await fixture.commit(.main) == .success) }
            #expect(try await fixture.values(id, in: .network) == [2, 2, 3])
            let outcome =
                commits == 0 ? try await fixture.save(.network, policy) : try await fixture.commit(.network, policy)
            let shown: [Int]
            switch policy {
            case .error:
                #expect(outcome == .conflict(id, "a"))
                let detail = try #require(outcome.error?.details.first)
                #expect(detail.base == .integer(1) && detail.mine == .integer(2) && detail.theirs == .integer(3))
                #expect(try await fixture.values(id, in: .network) == [2, 2, 3])
                shown = [3, 1, 3]
            case .mine:
                #expect(outcome == .success)
                shown = [2, 2, 3]
            default:
                #expect(outcome == .success)
                #expect(try await fixture.values(id, in: .network) == [3, 2, 3])
                shown = [3, 2, 3]
            }
            #expect(try await fixture.values(id, in: .main) == shown)
            if commits == 1 { #expect(try fixture.stored(id) == shown) }
            try await fixture.close()
        }
    }

    @Test("A save with .theirs drops every edit of a column, including those that a child saved on top")
    func theirsOverSeveral() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .network, a: 2)
        try await fixture.edit(id, in: "deep", a: 3)
        #expect(try await fixture.save("deep") == .success)
        try await fixture.edit(id, in: .main, a: 4)
        #expect(try await fixture.save(.network, .theirs) == .success)
        for name in [ContextName.main, .network, "deep"] {
            #expect(try await fixture.values(id, in: name) == [4, 0, 0])
        }
        try await fixture.close()
    }

    @Test("A parent's stale edit over a child's saved value conflicts at the parent's own save and commit")
    func staleEdit() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        let (stack, network) = (fixture.stack, try fixture.stack[.network])
        try await stack.on(network) { try $0.find(id)?.a = 2 }
        // The block of main keeps its view, so it has not seen the save when it edits.
        let outcomes = try await stack.on(.main) { context in
            let cell = try #require(try context.find(id))
            // A separate task saves, because this block would see a save that it runs itself.
            try await Task.detached { try await stack.save(.network) }.value
            cell.a = 3
            return [SaveOutcome { try context.save() }, SaveOutcome { try context.commit() }]
        }
        #expect(outcomes == [.conflict(id, "a"), .conflict(id, "a")])
        #expect(try await fixture.values(id, in: .main) == [3, 0, 0])
        #expect(try await fixture.save(.main, .theirs) == .success)
        #expect(try await fixture.values(id, in: .root) == [2, 0, 0])
        try await fixture.close()
    }

    @Test("A parent's unsaved edit does not conflict with a commit above it, even beside values that a child saved")
    func unfinishedBeneath() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .network, b: 5)
        #expect(try await fixture.save(.network) == .success)
        try await fixture.edit(id, in: .main, a: 2)
        try await fixture.edit(id, in: .root, a: 9)
        #expect(try await fixture.commit(.main) == .success)
        #expect(try fixture.stored(id) == [2, 5, 0])
        #expect(try await fixture.values(id, in: .root) == [9, 5, 0])
        try await fixture.close()
    }

    @Test("A failed save leaves everything as it was, and can be repeated once its reason is gone")
    func repeated() async throws {
        let fixture = try await SavingFixture()
        let good = try await fixture.cell(1)
        let ids = try await fixture.stack.on(.network) { context in
            try context.find(good)?.a = 2
            let writer = context.insert(Writer(name: "nobody", fee: 13))
            let other = context.insert(Writer(name: ""))
            return [writer.id, other.id]
        }
        for _ in 0..<2 {
            let outcome = try await fixture.save(.network)
            #expect(outcome.code == .validation)
            #expect(outcome.places == ["\(ids[0].rawValue).name", "\(ids[0].rawValue).", "\(ids[1].rawValue).name"])
            #expect(try await fixture.commit(.network).code == .validation)
            #expect(try await fixture.values(good, in: .main) == [1, 0, 0])
            #expect(try await fixture.values(good, in: .network) == [2, 0, 0])
        }
        try await fixture.stack.on(.network) { context in
            let writers = try context.fetch(Writer.all)
            #expect(writers.count == 2)
            context.rollback(writers)
            #expect(try context.count(Writer.all) == 0)
            try context.commit()
        }
        #expect(try fixture.stored(good) == [2, 0, 0])
        try await fixture.close()
    }

    @Test("rollback() drops a context's own edits, and rollback(includingSaved:) also drops its children's saved edits")
    func rollback() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .network, b: 2)
        #expect(try await fixture.save(.network) == .success)
        try await fixture.edit(id, in: .main, a: 3)
        try await fixture.stack.on(.main) { $0.rollback() }
        #expect(try await fixture.values(id, in: .main) == [1, 2, 0])
        try await fixture.stack.on(.main) { $0.rollback(includingSaved: true) }
        #expect(try await fixture.values(id, in: .main) == [1, 0, 0])
        #expect(try await fixture.values(id, in: .network) == [1, 0, 0])
        #expect(try await fixture.stack.on(.main) { !$0.hasChanges })
        try await fixture.close()
    }

    @Test("A background block that ends with unsaved changes drops them")
    func dropped() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.stack.background { try $0.find(id)?.a = 2 }
        #expect(try await fixture.values(id, in: .main) == [1, 0, 0])
        try await fixture.close()
        await #expect(throws: StrataError.self) { try await fixture.stack.save(.main) }
    }

    @Test("A save with .theirs drops the conflicting edits of all models, even in a layer of several parts")
    func severalParts() async throws {
        let fixture = try await SavingFixture()
        let cells = [try await fixture.cell(1), try await fixture.cell(2)]
        let owners = try await fixture.stack.on(.root) { context in
            let owners = ["a", "b"].map { context.insert(Owner(name: $0)) }
            try context.commit()
            return owners.map(\.id)
        }
        for (cell, owner) in zip(cells, owners) {
            try await fixture.edit(cell, in: .network, a: 10)
            try await fixture.deep.perform { context in
                try #require(try context.find(owner)).name = "deep"
                try context.save()
            }
        }
        try await fixture.stack.on(.main) { context in
            for cell in try context.find(cells) { cell.a = 20 }
            for owner in try context.find(owners) { owner.name = "main" }
        }
        #expect(try await fixture.save(.network, .theirs) == .success)
        for name in [ContextName.network, .main] {
            let shown = try await fixture.stack.on(name) { context in
                (try context.find(cells).map(\.a), try context.find(owners).map(\.name))
            }
            #expect(shown == ([20, 20], ["main", "main"]))
        }
        #expect(try await fixture.stack.on(.network) { !$0.hasChanges })
        try await fixture.close()
    }
}
