import Strata
import Testing

/// Whole rows: rows that a commit includes, cancelled inserts, and deletes against edits.
@Suite struct InsertAndDeleteTests {
    @Test("A child's commit of an edit includes the whole row that its parent inserted")
    func goesAlong() async throws {
        let house = try await House()
        let id = try await house.stack.on(.main) { $0.insert(Cell(a: 1, b: 1)).id }
        try await house.edit(id, in: .network, a: 2)
        try await house.edit(id, in: .main, c: 3)
        #expect(try await house.commit(.network) == .success)
        #expect(try house.stored(id) == [2, 1, 3])
        #expect(try await house.stack.on(.main) { !$0.hasChanges })
        try await house.stack.on(.main) { $0.rollback() }
        #expect(try await house.values(id, in: .main) == [2, 1, 3], "rolling the parent back does not remove it")
        try await house.close()
    }

    @Test("A parent's later edit of a row that it inserted stays on top of a child's commit, with its old base value")
    func laterEditOfInserted() async throws {
        let house = try await House()
        let id = try await house.stack.on(.main) { $0.insert(Cell(a: 1)).id }
        try await house.edit(id, in: .network, a: 2)
        try await house.edit(id, in: .main, a: 3)
        #expect(try await house.commit(.network) == .success)
        #expect(try house.stored(id) == [2, 0, 0])
        #expect(try await house.values(id, in: .main) == [3, 0, 0])
        #expect(try await house.commit(.main) == .conflict(id, "a"), "main has not seen what was committed")
        #expect(try await house.commit(.main, .mine) == .success)
        #expect(try house.stored(id) == [3, 0, 0])
        try await house.close()
    }

    @Test("A committed insert leaves no changes in its layers, even if a child has seen a value rolled back since")
    func goesAlongAfterRollback() async throws {
        let house = try await House()
        let id = try await house.stack.on(.main) { $0.insert(Cell(a: 1)).id }
        try await house.edit(id, in: .network, a: 2)
        try await house.edit(id, in: "deep", a: 3)
        try await house.stack.on(.network) { $0.rollback() }
        #expect(try await house.commit("deep") == .success)
        #expect(try house.stored(id) == [3, 0, 0])
        for name in [ContextName.root, .main, .network] {
            #expect(try await house.values(id, in: name) == [3, 0, 0])
            #expect(try await house.stack.on(name) { !$0.hasChanges })
        }
        try await house.close()
    }

    @Test("A commit includes its to-one targets and both ends of join rows, transitively, and nothing else")
    func closure() async throws {
        let house = try await House()
        let ids = try await house.stack.on(.main) { context in
            let author = context.insert(Author(name: "Ursula"))
            let article = context.insert(Article(title: "Hand", author: author))
            context.insert(Article(title: "Left", author: author))
            context.insert(Author(name: "nobody refers to this one"))
            return (article.id, context.insert(Writer(name: "w")).id, context.insert(Spouse(name: "s")).id)
        }
        try await house.stack.on(.network) { context in
            let article = try #require(try context.find(ids.0))
            context.insert(Citation(journal: "J", article: article))
            let (writer, spouse) = (try context.find(ids.1), try context.find(ids.2))
            writer?.spouses.insert(try #require(spouse))
            try context.commit()
        }
        for (table, count) in [
            ("Author", 1), ("Article", 1), ("Citation", 1), ("Writer", 1), ("Spouse", 1),
        ] {
            #expect(try plainRows(house.url, "SELECT count(*) FROM \(table)") == [[count]], "\(table)")
        }
        try await house.stack.on(.main) { context in
            #expect(try context.count(Article.all) == 2)
            #expect(try context.count(Author.all) == 2)
            #expect(try context.find(ids.1)?.spouses.fetch().map(\.name) == ["s"])
            try context.commit()
        }
        #expect(try plainRows(house.url, "SELECT count(*) FROM Article") == [[2]])
        try await house.close()
    }

    @Test("A parent's row that a commit includes is validated; the failure names it, and nothing is written")
    func goesAlongInvalid() async throws {
        let house = try await House()
        let id = try await house.stack.on(.main) { $0.insert(Writer(name: "")).id }
        let outcome = try await house.stack.on(.network) { context in
            try context.find(id)?.fee = 2
            return Outcome { try context.commit() }
        }
        #expect(outcome == Outcome(code: .validation, places: ["\(id.number).name"]))
        #expect(try plainRows(house.url, "SELECT count(*) FROM Writer") == [[0]])
        try await house.close()
    }

    @Test("A row that a parent inserted and a child deletes never reaches the store", arguments: [false, true])
    func withdrawn(_ saves: Bool) async throws {
        let house = try await House()
        let id = try await house.stack.on(.main) { $0.insert(Cell(a: 1)).id }
        try await house.delete(id, in: .network)
        if saves { #expect(try await house.save(.network) == .success) }
        #expect(try await house.commit(.network) == .success)
        #expect(try house.stored(id) == nil)
        #expect(try await house.values(id, in: .main) == nil)
        #expect(try await house.stack.on(.main) { !$0.hasChanges })
        #expect(try await house.commit(.main) == .success)
        #expect(try house.stored(id) == nil)
        try await house.close()
    }

    @Test("A context that inserts, saves, deletes and commits a row leaves nothing behind")
    func withdrawnByItself() async throws {
        let house = try await House()
        let id = try await house.stack.on(.network) { context in
            let cell = context.insert(Cell(a: 1))
            try context.save()
            context.delete(cell)
            return cell.id
        }
        #expect(try await house.commit(.network) == .success)
        #expect(try house.stored(id) == nil)
        for name in [ContextName.network, .main] {
            #expect(try await house.values(id, in: name) == nil)
            #expect(try await house.stack.on(name) { !$0.hasChanges })
        }
        try await house.close()
    }

    @Test("A child's edit of a row that its parent deleted conflicts at the child's save, not at its commit")
    func deletedByParent() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.edit(id, in: .network, a: 2)
        try await house.delete(id, in: .main)
        #expect(try await house.values(id, in: .network) == nil)
        #expect(try await house.save(.network) == .conflict(id, "a"))
        #expect(try await house.commit(.network) == .success)
        #expect(try house.stored(id) == [2, 0, 0])
        #expect(try await house.values(id, in: .main) == nil)
        #expect(try await house.save(.main) == .conflict(id, "a"), "the delete meets it at the parent's save")
        #expect(try await house.save(.main, .mine) == .success)
        #expect(try await house.commit(.root, .mine) == .success)
        #expect(try house.stored(id) == nil)
        try await house.close()
    }

    @Test("A save with .mine brings a deleted row back under its id, and a save with .theirs drops the edit")
    func restored() async throws {
        for policy in [MergePolicy.mine, .theirs] {
            let house = try await House()
            let id = try await house.cell(1, 5)
            try await house.edit(id, in: .network, a: 2)
            try await house.delete(id, in: .main)
            #expect(try await house.save(.network, policy) == .success)
            let shown = policy == .mine ? [2, 5, 0] : nil
            #expect(try await house.values(id, in: .main) == shown)
            #expect(try await house.commit(.main) == .success)
            #expect(try house.stored(id) == shown)
            try await house.close()
        }
    }

    @Test("A commit with .mine brings back a row that another context deleted, and .theirs drops the edit")
    func restoredInStore() async throws {
        for policy in [MergePolicy.error, .mine, .theirs] {
            let house = try await House()
            let id = try await house.cell(1, 5)
            try await house.edit(id, in: .network, a: 2)
            try await house.delete(id, in: .other)
            #expect(try await house.commit(.other) == .success)
            let outcome = try await house.commit(.network, policy)
            #expect(outcome == (policy == .error ? .conflict(id, "a") : .success))
            #expect(try house.stored(id) == (policy == .mine ? [2, 5, 0] : nil))
            try await house.close()
        }
    }

    @Test("A child's delete of a row that its parent edited conflicts at the child's save, not at its commit")
    func editedByParent() async throws {
        for policy in [MergePolicy.error, .mine, .theirs] {
            let house = try await House()
            let id = try await house.cell(1)
            try await house.delete(id, in: .network)
            try await house.edit(id, in: .main, a: 2)
            #expect(try await house.save(.network, policy) == (policy == .error ? .conflict(id, "a") : .success))
            #expect(try await house.values(id, in: .main) == (policy == .mine ? nil : [2, 0, 0]))
            if policy == .error {
                #expect(try await house.commit(.network) == .success)
                #expect(try house.stored(id) == nil)
                #expect(try await house.save(.main) == .conflict(id, "a"))
                #expect(try await house.save(.main, .theirs) == .success)
            }
            try await house.close()
        }
    }

    @Test("A child's committed delete also removes the parent's edits that the delete has seen")
    func deletedAfterSeeing() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.edit(id, in: .main, a: 2)
        try await house.delete(id, in: .network)
        #expect(try await house.commit(.network) == .success)
        #expect(try house.stored(id) == nil)
        #expect(try await house.stack.on(.main) { !$0.hasChanges })
        try await house.close()
    }

    @Test("A save throws if its context has changed an object that it has deleted")
    func changedAfterDelete() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.stack.on(.network) { context in
            let cell = try #require(try context.find(id))
            context.delete(cell)
            #expect(cell.isDeleted && cell.a == 1)
            cell.a = 2
            let outcomes = [Outcome { try context.save() }, Outcome { try context.commit() }]
            #expect(outcomes.map(\.code) == [.misuse, .misuse])
            context.rollback([cell])
            #expect(!cell.isDeleted && cell.a == 1)
            try context.commit()
        }
        #expect(try house.stored(id) == [1, 0, 0])
        try await house.close()
    }
}
