import Strata
import Testing

/// Whole rows: rows that a commit includes, cancelled inserts, and deletes against edits.
@Suite struct InsertAndDeleteTests {
    @Test("A child's commit of an edit includes the whole row that its parent inserted")
    func goesAlong() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.stack.on(.main) { $0.insert(Cell(a: 1, b: 1)).id }
        try await fixture.edit(id, in: .network, a: 2)
        try await fixture.edit(id, in: .main, c: 3)
        #expect(try await fixture.commit(.network) == .success)
        #expect(try fixture.stored(id) == [2, 1, 3])
        #expect(try await fixture.stack.on(.main) { !$0.hasChanges })
        try await fixture.stack.on(.main) { $0.rollback() }
        #expect(try await fixture.values(id, in: .main) == [2, 1, 3], "rolling the parent back does not remove it")
        try await fixture.close()
    }

    @Test("A parent's later edit of a row that it inserted stays on top of a child's commit, with its old base value")
    func laterEditOfInserted() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.stack.on(.main) { $0.insert(Cell(a: 1)).id }
        try await fixture.edit(id, in: .network, a: 2)
        try await fixture.edit(id, in: .main, a: 3)
        #expect(try await fixture.commit(.network) == .success)
        #expect(try fixture.stored(id) == [2, 0, 0])
        #expect(try await fixture.values(id, in: .main) == [3, 0, 0])
        #expect(try await fixture.commit(.main) == .conflict(id, "a"), "main has not seen the commit")
        #expect(try await fixture.commit(.main, .mine) == .success)
        #expect(try fixture.stored(id) == [3, 0, 0])
        try await fixture.close()
    }

    @Test("A committed insert leaves no changes in its layers, even if a child has seen a value rolled back since")
    func goesAlongAfterRollback() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.stack.on(.main) { $0.insert(Cell(a: 1)).id }
        try await fixture.edit(id, in: .network, a: 2)
        try await fixture.edit(id, in: "deep", a: 3)
        try await fixture.stack.on(.network) { $0.rollback() }
        #expect(try await fixture.commit("deep") == .success)
        #expect(try fixture.stored(id) == [3, 0, 0])
        for name in [ContextName.root, .main, .network] {
            #expect(try await fixture.values(id, in: name) == [3, 0, 0])
            #expect(try await fixture.stack.on(name) { !$0.hasChanges })
        }
        try await fixture.close()
    }

    @Test("A commit includes its to-one targets and both ends of join rows, transitively, and nothing else")
    func closure() async throws {
        let fixture = try await SavingFixture()
        let ids = try await fixture.stack.on(.main) { context in
            let author = context.insert(Author(name: "Ursula"))
            let article = context.insert(Article(title: "Hand", author: author))
            context.insert(Article(title: "Left", author: author))
            context.insert(Author(name: "nobody refers to this one"))
            return (article.id, context.insert(Writer(name: "w")).id, context.insert(Spouse(name: "s")).id)
        }
        try await fixture.stack.on(.network) { context in
            let article = try #require(try context.find(ids.0))
            context.insert(Citation(journal: "J", article: article))
            let (writer, spouse) = (try context.find(ids.1), try context.find(ids.2))
            writer?.spouses.insert(try #require(spouse))
            try context.commit()
        }
        for (table, count) in [
            ("Author", 1), ("Article", 1), ("Citation", 1), ("Writer", 1), ("Spouse", 1),
        ] {
            #expect(try plainRows(fixture.url, "SELECT count(*) FROM \(table)") == [[count]], "\(table)")
        }
        try await fixture.stack.on(.main) { context in
            #expect(try context.count(Article.all) == 2)
            #expect(try context.count(Author.all) == 2)
            #expect(try context.find(ids.1)?.spouses.fetch().map(\.name) == ["s"])
            try context.commit()
        }
        #expect(try plainRows(fixture.url, "SELECT count(*) FROM Article") == [[2]])
        try await fixture.close()
    }

    @Test("A parent's row that a commit includes is validated; the failure names it, and nothing is written")
    func goesAlongInvalid() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.stack.on(.main) { $0.insert(Writer(name: "")).id }
        let outcome = try await fixture.stack.on(.network) { context in
            try context.find(id)?.fee = 2
            return SaveOutcome { try context.commit() }
        }
        #expect(outcome == SaveOutcome(code: .validation, places: ["\(id.rawValue).name"]))
        #expect(try plainRows(fixture.url, "SELECT count(*) FROM Writer") == [[0]])
        try await fixture.close()
    }

    @Test("A row that a parent inserted and a child deletes never reaches the store", arguments: [false, true])
    func withdrawn(_ saves: Bool) async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.stack.on(.main) { $0.insert(Cell(a: 1)).id }
        try await fixture.delete(id, in: .network)
        if saves { #expect(try await fixture.save(.network) == .success) }
        #expect(try await fixture.commit(.network) == .success)
        #expect(try fixture.stored(id) == nil)
        #expect(try await fixture.values(id, in: .main) == nil)
        #expect(try await fixture.stack.on(.main) { !$0.hasChanges })
        #expect(try await fixture.commit(.main) == .success)
        #expect(try fixture.stored(id) == nil)
        try await fixture.close()
    }

    @Test("A context that inserts, saves, deletes and commits a row leaves nothing behind")
    func withdrawnByItself() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.stack.on(.network) { context in
            let cell = context.insert(Cell(a: 1))
            try context.save()
            context.delete(cell)
            return cell.id
        }
        #expect(try await fixture.commit(.network) == .success)
        #expect(try fixture.stored(id) == nil)
        for name in [ContextName.network, .main] {
            #expect(try await fixture.values(id, in: name) == nil)
            #expect(try await fixture.stack.on(name) { !$0.hasChanges })
        }
        try await fixture.close()
    }

    @Test("A child's edit of a row that its parent deleted conflicts at the child's save, not at its commit")
    func deletedByParent() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .network, a: 2)
        try await fixture.delete(id, in: .main)
        #expect(try await fixture.values(id, in: .network) == nil)
        #expect(try await fixture.save(.network) == .conflict(id, "a"))
        #expect(try await fixture.commit(.network) == .success)
        #expect(try fixture.stored(id) == [2, 0, 0])
        #expect(try await fixture.values(id, in: .main) == nil)
        #expect(try await fixture.save(.main) == .conflict(id, "a"), "the delete meets it at the parent's save")
        #expect(try await fixture.save(.main, .mine) == .success)
        #expect(try await fixture.commit(.root, .mine) == .success)
        #expect(try fixture.stored(id) == nil)
        try await fixture.close()
    }

    @Test("A save with .mine brings a deleted row back under its id, and a save with .theirs drops the edit")
    func restored() async throws {
        for policy in [MergePolicy.mine, .theirs] {
            let fixture = try await SavingFixture()
            let id = try await fixture.cell(1, 5)
            try await fixture.edit(id, in: .network, a: 2)
            try await fixture.delete(id, in: .main)
            #expect(try await fixture.save(.network, policy) == .success)
            let shown = policy == .mine ? [2, 5, 0] : nil
            #expect(try await fixture.values(id, in: .main) == shown)
            #expect(try await fixture.commit(.main) == .success)
            #expect(try fixture.stored(id) == shown)
            try await fixture.close()
        }
    }

    @Test("A commit with .mine brings back a row that another context deleted, and .theirs drops the edit")
    func restoredInStore() async throws {
        for policy in [MergePolicy.error, .mine, .theirs] {
            let fixture = try await SavingFixture()
            let id = try await fixture.cell(1, 5)
            try await fixture.edit(id, in: .network, a: 2)
            try await fixture.delete(id, in: .other)
            #expect(try await fixture.commit(.other) == .success)
            let outcome = try await fixture.commit(.network, policy)
            #expect(outcome == (policy == .error ? .conflict(id, "a") : .success))
            #expect(try fixture.stored(id) == (policy == .mine ? [2, 5, 0] : nil))
            try await fixture.close()
        }
    }

    @Test("A child's delete of a row that its parent edited conflicts at the child's save, not at its commit")
    func editedByParent() async throws {
        for policy in [MergePolicy.error, .mine, .theirs] {
            let fixture = try await SavingFixture()
            let id = try await fixture.cell(1)
            try await fixture.delete(id, in: .network)
            try await fixture.edit(id, in: .main, a: 2)
            #expect(try await fixture.save(.network, policy) == (policy == .error ? .conflict(id, "a") : .success))
            #expect(try await fixture.values(id, in: .main) == (policy == .mine ? nil : [2, 0, 0]))
            if policy == .error {
                #expect(try await fixture.commit(.network) == .success)
                #expect(try fixture.stored(id) == nil)
                #expect(try await fixture.save(.main) == .conflict(id, "a"))
                #expect(try await fixture.save(.main, .theirs) == .success)
            }
            try await fixture.close()
        }
    }

    @Test("A child's committed delete also removes the parent's edits that the delete has seen")
    func deletedAfterSeeing() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .main, a: 2)
        try await fixture.delete(id, in: .network)
        #expect(try await fixture.commit(.network) == .success)
        #expect(try fixture.stored(id) == nil)
        #expect(try await fixture.stack.on(.main) { !$0.hasChanges })
        try await fixture.close()
    }

    @Test("A save throws if its context has changed an object that it has deleted")
    func changedAfterDelete() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.stack.on(.network) { context in
            let cell = try #require(try context.find(id))
            context.delete(cell)
            #expect(cell.isDeleted && cell.a == 1)
            cell.a = 2
            let outcomes = [SaveOutcome { try context.save() }, SaveOutcome { try context.commit() }]
            #expect(outcomes.map(\.code) == [.invalidState, .invalidState])
            context.rollback([cell])
            #expect(!cell.isDeleted && cell.a == 1)
            try context.commit()
        }
        #expect(try fixture.stored(id) == [1, 0, 0])
        try await fixture.close()
    }
}
