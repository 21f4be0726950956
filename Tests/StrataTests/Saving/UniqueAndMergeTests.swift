import Strata
import Testing

/// Unique values, members of relationships and merged rows.
@Suite struct UniqueAndMergeTests {
    private func articles(_ fixture: SavingFixture, _ slugs: String...) async throws -> [ObjectID<Article>] {
        try await fixture.stack.on(.root) { context in
            let articles = slugs.map { context.insert(Article(slug: $0, title: $0)) }
            try context.commit()
            return articles.map(\.id)
        }
    }

    private func slugs(_ fixture: SavingFixture, in name: ContextName) async throws -> [String?] {
        try await fixture.stack.on(name) { try $0.fetch(Article.all).map(\.slug) }
    }

    @Test("A save checks unique values against the parent's view, and a commit checks them against the store")
    func unique() async throws {
        let fixture = try await SavingFixture()
        _ = try await articles(fixture, "a")
        let held = try await fixture.stack.on(.main) { $0.insert(Article(slug: "b", title: "B")).id }
        let late = try await fixture.stack.on(.network) { $0.insert(Article(slug: "b", title: "late")).id }
        #expect(try await fixture.save(.network) == SaveOutcome(code: .notUnique, places: ["\(late.rawValue).slug"]))
        #expect(try await fixture.commit(.network) == .success, "the store has no b")
        #expect(try await fixture.commit(.main) == SaveOutcome(code: .notUnique, places: ["\(held.rawValue).slug"]))
        try await fixture.close()
    }

    @Test(
        "A holder that a parent has deleted or renamed without saving blocks a commit, and the error names both",
        arguments: [false, true]
    )
    func holderOfParent(_ deletes: Bool) async throws {
        let fixture = try await SavingFixture()
        let holder = try await articles(fixture, "a")[0]
        try await fixture.stack.on(.main) { context in
            let article = try #require(try context.find(holder))
            if deletes { context.delete(article) } else { article.slug = "z" }
        }
        let id = try await fixture.stack.on(.network) { $0.insert(Article(slug: "a", title: "new")).id }
        let outcome = try await fixture.commit(.network)
        #expect(outcome == SaveOutcome(code: .notUnique, places: ["\(id.rawValue).slug"]))
        let message = try #require(outcome.error?.details.first?.message)
        #expect(message.contains("\(holder.rawValue)") && message.contains("main"), "\(message)")
        #expect(try await fixture.save(.network) == .success, "the parent shows no holder")
        #expect(try await fixture.commit(.main) == .success)
        #expect(try await slugs(fixture, in: .root) == (deletes ? ["a"] : ["z", "a"]))
        try await fixture.close()
    }

    @Test("A clash of unique values between parents does not keep a child from saving")
    func disagreement() async throws {
        let fixture = try await SavingFixture()
        let ids = try await articles(fixture, "a", "b")
        try await fixture.stack.on(.main) { context in
            try context.find(ids[0])?.slug = "c"
            try context.find(ids[1])?.title = "B"
        }
        try await fixture.stack.on(.root) { context in
            try context.find(ids[1])?.slug = "c"
            try context.commit()
        }
        try await fixture.stack.on(.network) { try $0.find(ids[1])?.views = 1 }
        _ = try await fixture.stack.on(.network) { $0.insert(Article(slug: "d", title: "D")).id }
        #expect(try await fixture.save(.network) == .success)
        #expect(try await fixture.save(.main) == SaveOutcome(code: .notUnique, places: ["\(ids[0].rawValue).slug"]))
        try await fixture.close()
    }

    @Test("One commit can swap and rotate unique values, also together with a delete and an insert")
    func rotations() async throws {
        let fixture = try await SavingFixture()
        let ids = try await articles(fixture, "a", "b", "c", "d")
        func set(_ slugs: [String?]) async throws -> [String?] {
            try await fixture.stack.on(.network) { context in
                for (id, slug) in zip(ids, slugs) { try context.find(id)?.slug = slug }
                try context.commit()
            }
            return try await self.slugs(fixture, in: .other)
        }
        for slugs in [
            ["b", "a", "c", "d"], ["a", "c", "b", "d"], ["c", "d", "a", "b"], ["d", "a", "b", nil],
            ["a", nil, "d", "b"],
        ] {
            #expect(try await set(slugs) == slugs)
        }
        try await fixture.stack.on(.network) { context in
            let all = try context.fetch(Article.all)
            context.delete(all[0])
            all[3].slug = "a"
            context.insert(Article(slug: "b", title: "new"))
            try context.commit()
        }
        #expect(try await slugs(fixture, in: .other) == [nil, "d", "a", "b"])
        try await fixture.close()
    }

    @Test("Two rows that one commit gives the same unique value are refused, and neither is written")
    func sameInOneCommit() async throws {
        let fixture = try await SavingFixture()
        let ids = try await articles(fixture, "a", "b")
        try await fixture.stack.on(.network) { context in for id in ids { try context.find(id)?.slug = "c" } }
        #expect(
            try await fixture.commit(.network) == SaveOutcome(code: .notUnique, places: ["\(ids[1].rawValue).slug"])
        )
        #expect(try await slugs(fixture, in: .root) == ["a", "b"])
        try await fixture.close()
    }

    @Test(
        "A row is refused if it takes a unique value that the policy leaves with another row",
        arguments: ["older", "newer", "inserted"]
    )
    func leftToOthers(_ taker: String) async throws {
        let fixture = try await SavingFixture()
        let ids = try await articles(fixture, "a", "b")
        let (holder, other) = taker == "older" ? (ids[1], ids[0]) : (ids[0], ids[1])
        let id = try await fixture.stack.on(.main) { context in
            // The new value would be free if the second process had not given it to the holder.
            try #require(try context.find(holder)).slug = "free"
            if taker == "inserted" { return context.insert(Article(slug: "theirs", title: "new")).id }
            try #require(try context.find(other)).slug = "theirs"
            return other
        }
        let second = try await SavingFixture.open(fixture.url)
        try await second.on(.root) { context in
            try #require(try context.find(holder)).slug = "theirs"
            try context.commit()
        }
        let outcome = try await fixture.commit(.main, .theirs)
        #expect(outcome.code == .notUnique)
        let detail = try #require(outcome.error?.details.first)
        #expect(detail.id == holder.rawValue && detail.column == "slug")
        #expect(detail.message.hasSuffix("Article \(id.rawValue)"), "\(detail.message)")
        let committed = try await second.on(.root) { try $0.column(Article.all, \.slug) }
        #expect(Set(committed) == (taker == "older" ? ["a", "theirs"] : ["theirs", "b"]))
        try await second.close()
        try await fixture.close()
    }

    @Test("Two rows to which a custom policy gives the same unique value are refused")
    func sameByPolicy() async throws {
        let fixture = try await SavingFixture()
        let ids = try await articles(fixture, "a", "b")
        try await fixture.stack.on(.main) { context in
            for (id, slug) in zip(ids, ["mine a", "mine b"]) { try #require(try context.find(id)).slug = slug }
        }
        let second = try await SavingFixture.open(fixture.url)
        try await second.on(.root) { context in
            for (id, slug) in zip(ids, ["their a", "their b"]) { try #require(try context.find(id)).slug = slug }
            try context.commit()
        }
        let outcome = try await fixture.commit(.main, .custom { _ in .value("same") })
        #expect(outcome.code == .notUnique)
        let committed = try await second.on(.root) { try $0.column(Article.all, \.slug) }
        #expect(committed == ["their a", "their b"])
        try await second.close()
        try await fixture.close()
    }

    @Test("A save can swap two unique values")
    func swapAtSave() async throws {
        let fixture = try await SavingFixture()
        let ids = try await articles(fixture, "a", "b")
        try await fixture.stack.on(.network) { context in
            try context.find(ids[0])?.slug = "b"
            try context.find(ids[1])?.slug = "a"
            try context.save()
        }
        #expect(try await fixture.commit(.main) == .success)
        #expect(try await slugs(fixture, in: .root) == ["b", "a"])
        try await fixture.close()
    }

    @Test("Members merge as a set: different additions both count, and the same addition counts once")
    func members() async throws {
        let fixture = try await SavingFixture()
        let (writer, spouses) = try await fixture.stack.on(.root) { context in
            let writer = context.insert(Writer(name: "w"))
            let spouses = ["a", "b", "c"].map { context.insert(Spouse(name: $0)) }
            writer.spouses.insert(spouses[0])
            try context.commit()
            return (writer.id, spouses.map(\.id))
        }
        for (name, number) in [(ContextName.network, 1), (.other, 1)] {
            try await fixture.stack.on(name) { context in
                try context.find(writer)?.spouses.insert(try #require(try context.find(spouses[number])))
            }
        }
        try await fixture.stack.on(.network) { context in
            let writer = try #require(try context.find(writer))
            writer.spouses.remove(try #require(try context.find(spouses[0])))
        }
        try await fixture.stack.on(.other) { context in
            try context.find(spouses[2])?.writers.insert(try #require(try context.find(writer)))
        }
        #expect(try await fixture.commit(.network) == .success)
        #expect(try await fixture.commit(.other) == .success)
        for name in [ContextName.root, .main, .network, .other] {
            let names = try await fixture.stack.on(name) { try $0.find(writer)?.spouses.fetch().map(\.name) }
            #expect(names == ["b", "c"], "\(name)")
        }
        try await fixture.close()
    }

    @Test("Ordered members conflict only if both contexts have moved the same member")
    func ordered() async throws {
        for same in [false, true] {
            let fixture = try await SavingFixture()
            let (writer, spouses) = try await fixture.stack.on(.root) { context in
                let writer = context.insert(Writer(name: "w"))
                let spouses = ["a", "b", "c", "d"].map { context.insert(Spouse(name: $0)) }
                for spouse in spouses { writer.spouses.insert(spouse) }
                try context.commit()
                return (writer.id, spouses.map(\.id))
            }
            func move(_ from: Int, before to: Int?, in name: ContextName) async throws {
                try await fixture.stack.on(name) { context in
                    let writer = try #require(try context.find(writer))
                    let next = try to.flatMap { try context.find(spouses[$0]) }
                    try writer.spouses.move(try #require(try context.find(spouses[from])), before: next)
                }
            }
            try await move(0, before: nil, in: .network)
            try await move(same ? 0 : 2, before: same ? 2 : 1, in: .other)
            #expect(try await fixture.commit(.network) == .success)
            let outcome = try await fixture.commit(.other)
            #expect(outcome.code == (same ? .conflict : nil))
            let names = try await fixture.stack.on(.root) { try $0.find(writer)?.spouses.fetch().map(\.name) }
            #expect(names == (same ? ["b", "c", "d", "a"] : ["c", "b", "d", "a"]))
            try await fixture.close()
        }
    }

    /// A writer with the spouses `a` and `b` in the store, and a third spouse that is not a member yet.
    private func family(_ fixture: SavingFixture) async throws -> (
        writer: ObjectID<Writer>, spouses: [ObjectID<Spouse>]
    ) {
        try await fixture.stack.on(.root) { context in
            let writer = context.insert(Writer(name: "w"))
            let spouses = ["a", "b", "c"].map { context.insert(Spouse(name: $0)) }
            for spouse in spouses.prefix(2) { writer.spouses.insert(spouse) }
            try context.commit()
            return (writer.id, spouses.map(\.id))
        }
    }

    private func names(_ fixture: SavingFixture, _ writer: ObjectID<Writer>, in name: ContextName) async throws
        -> [String]?
    {
        try await fixture.stack.on(name) { try $0.find(writer)?.spouses.fetch().map(\.name) }
    }

    @Test("A member that another context has added meanwhile keeps the position that it was moved to")
    func movedAndAdded() async throws {
        let fixture = try await SavingFixture()
        let (writer, spouses) = try await family(fixture)
        func add(in name: ContextName) async throws {
            try await fixture.stack.on(name) { context in
                try context.find(writer)?.spouses.insert(try #require(try context.find(spouses[2])))
            }
        }
        try await add(in: .network)
        #expect(try await fixture.save(.network) == .success)
        try await fixture.stack.on(.network) { context in
            let writer = try #require(try context.find(writer))
            try writer.spouses.move(
                try #require(try context.find(spouses[2])),
                before: try context.find(spouses[0])
            )
        }
        try await add(in: .root)
        #expect(try await fixture.commit(.root) == .success)
        #expect(try await names(fixture, writer, in: .network) == ["c", "a", "b"])
        #expect(try await fixture.commit(.main) == .success)
        #expect(try await names(fixture, writer, in: .main) == ["a", "b", "c"])
        #expect(try await names(fixture, writer, in: .network) == ["c", "a", "b"])
        #expect(try await fixture.commit(.network) == .success)
        #expect(try await names(fixture, writer, in: .root) == ["c", "a", "b"])
        #expect(try plainRows(fixture.url, "SELECT count(*) FROM Writer_spouses") == [[3]])
        try await fixture.close()
    }

    @Test("A member that is moved to its own position has not changed")
    func movedNowhere() async throws {
        let fixture = try await SavingFixture()
        let (writer, spouses) = try await family(fixture)
        try await fixture.stack.on(.network) { context in
            let writer = try #require(try context.find(writer))
            let first = try #require(try context.find(spouses[0]))
            try writer.spouses.move(first, before: try context.find(spouses[1]))
            for member in try writer.spouses.fetch() { try writer.spouses.move(member, before: member) }
            #expect(!context.hasChanges)
            let stranger = Spouse(name: "stranger")
            let error = #expect(throws: StrataError.self) { try writer.spouses.move(stranger, before: stranger) }
            #expect(error?.code == .invalidState)
        }
        try await fixture.close()
    }

    @Test("A member that is removed and added again is the same member")
    func removedAndAdded() async throws {
        let fixture = try await SavingFixture()
        let (writer, spouses) = try await family(fixture)
        func change(in name: ContextName, _ body: @Sendable (Writer, Spouse) throws -> Void) async throws {
            try await fixture.stack.on(name) { context in
                try body(
                    try #require(try context.find(writer)),
                    try #require(try context.find(spouses[0]))
                )
            }
        }
        try await change(in: .main) { $0.spouses.remove($1) }
        try await change(in: .root) { writer, spouse in
            writer.spouses.remove(spouse)
            writer.spouses.insert(spouse)
        }
        #expect(try await fixture.commit(.root) == .success)
        #expect(try await names(fixture, writer, in: .root) == ["b", "a"])
        #expect(try await names(fixture, writer, in: .main) == ["b"])
        #expect(try await fixture.commit(.main, .mine) == .success)
        #expect(try await names(fixture, writer, in: .root) == ["b"])
        try await fixture.close()
    }

    @Test("Removing a member and adding it again changes nothing, so that another context's removal wins")
    func addedAgain() async throws {
        for isSaved in [false, true] {
            let fixture = try await SavingFixture()
            let (writer, spouses) = try await family(fixture)
            try await fixture.stack.on(.network) { context in
                let writer = try #require(try context.find(writer))
                let last = try #require(try context.find(spouses[1]))
                writer.spouses.remove(last)
                #expect(try writer.spouses.count == 1)
                writer.spouses.insert(last)
                #expect(try writer.spouses.count == 2)
            }
            try await fixture.stack.on(.root) { context in
                try context.find(writer)?.spouses.remove(try #require(try context.find(spouses[1])))
                try context.commit()
            }
            #expect(try await names(fixture, writer, in: .network) == ["a"])
            #expect(try await (isSaved ? fixture.save(.network) : fixture.commit(.network)) == .success)
            for name in [ContextName.root, .network] { #expect(try await names(fixture, writer, in: name) == ["a"]) }
            try await fixture.close()
        }
    }

    @Test(
        "If a context adds a member twice without seeing the first, the newer position counts, in queries and store"
    )
    func addedTwice() async throws {
        let fixture = try await SavingFixture()
        let (writer, _) = try await family(fixture)
        let (late, later) = try await fixture.stack.on(.root) { context in
            let added = ["x", "y"].map { context.insert(Spouse(name: $0)) }
            try context.commit()
            return (added[0].id, added[1].id)
        }
        let blind = try await fixture.stack.on(.main) { _ in
            try fixture.stack.create(.private, named: "blind", reads: .committed)
        }
        func addLate() async throws {
            try await blind.perform { context in
                try context.find(writer)?.spouses.insert(try #require(try context.find(late)))
                try context.save()
            }
        }
        try await addLate()
        try await fixture.stack.on(.root) { context in
            try context.find(writer)?.spouses.insert(try #require(try context.find(later)))
            try context.commit()
        }
        try await addLate()
        #expect(try await names(fixture, writer, in: .main) == ["a", "b", "y", "x"])
        #expect(try await fixture.commit(.main) == .success)
        #expect(try await names(fixture, writer, in: .root) == ["a", "b", "y", "x"])
        try await fixture.close()
    }

    @Test("A row that is merged from two writers is validated as a whole")
    func mergedRow() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.stack.on(.root) { context in
            let range = context.insert(Range2(low: 1, high: 10))
            try context.commit()
            return range.id
        }
        try await fixture.stack.on(.network) { try $0.find(id)?.low = 8 }
        try await fixture.stack.on(.other) { context in
            try context.find(id)?.high = 5
            try context.commit()
        }
        #expect(try await fixture.commit(.network).code == .validation)
        #expect(try plainRows(fixture.url, "SELECT low, high FROM Range2") == [[1, 5]])
        try await fixture.stack.on(.network) { try $0.find(id)?.low = 5 }
        #expect(try await fixture.commit(.network) == .success)
        #expect(try plainRows(fixture.url, "SELECT low, high FROM Range2") == [[5, 5]])
        try await fixture.close()
    }
}
