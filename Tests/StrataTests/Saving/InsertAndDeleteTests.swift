import Strata
import Testing

/// Whole rows: what goes along, what is withdrawn, deleted against edited (H21 to H23).
@Suite struct InsertAndDeleteTests {
    @Test("H21 a row that a parent inserted goes along whole when a child edits it")
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

    @Test("C16 H21 what the parent has set since, of a column that the child commits, stays on top with its old base")
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

    @Test("H20 H21 an insert that went along leaves nothing behind, though a child has seen what was rolled back since")
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

    @Test("H21 the closure is transitive: to-one targets, both ends of join rows, nothing else")
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

    @Test("H21 a row that goes along is validated; the failure names it, and nothing is written")
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

    @Test("H22 a child deletes what a parent inserted: nothing reaches the store", arguments: [false, true])
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

    @Test("H22 a context that inserts, saves, deletes and commits leaves nothing behind")
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

    @Test("H22 a parent has deleted what a child edits: a conflict at the child's save, not at its commit")
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

    @Test("C7 H22 .mine brings a row back under its id, .theirs drops the edit")
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

    @Test("C7 the same against the store: deleted and committed by somebody else")
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

    @Test("H22 mirrored: the parent has edited what the child deletes")
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

    @Test("H20 a delete that saw the parent's edit takes it along")
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

    @Test("C7 changing what this context has deleted throws at the save")
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
