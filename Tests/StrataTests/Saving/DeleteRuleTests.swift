import StoreModels
import Strata
import TestHomeTraits
import Testing

/// Delete rules at each boundary, and against the store.
@Suite struct DeleteRuleTests {
    /// A committed owner with one object of each delete rule.
    private func family(_ fixture: SavingFixture, deny: Bool = false) async throws -> ObjectID<Owner> {
        try await fixture.stack.on(.root) { context in
            let owner = context.insert(Owner(name: "o"))
            context.insert(Nullified(name: "n", owner: owner))
            context.insert(Cascaded(name: "c", owner: owner))
            if deny { context.insert(Denying(name: "d", owner: owner)) }
            context.insert(Untouched(name: "u", owner: owner))
            try context.commit()
            return owner.id
        }
    }

    /// An owner that was committed, and that the network context has deleted without saving.
    private func deletedOwner(_ fixture: SavingFixture) async throws -> ObjectID<Owner> {
        let id = try await fixture.stack.on(.root) { context in
            let owner = context.insert(Owner(name: "o"))
            try context.commit()
            return owner.id
        }
        try await fixture.stack.on(.network) { context in context.delete(try #require(try context.find(id))) }
        return id
    }

    private func counts(_ fixture: SavingFixture) throws -> [Int] {
        try plainRows(
            fixture.url,
            """
            SELECT (SELECT count(*) FROM Owner), (SELECT count(*) FROM Nullified WHERE owner IS NULL), \
            (SELECT count(*) FROM Cascaded), (SELECT count(*) FROM Denying), \
            (SELECT count(*) FROM Untouched WHERE owner IS NOT NULL)
            """
        )[0]
    }

    @Test("Nullify, cascade and noAction apply at a save, and then in the store")
    func rules() async throws {
        let fixture = try await SavingFixture()
        let id = try await family(fixture)
        try await fixture.stack.on(.network) { context in
            context.delete(try #require(try context.find(id)))
            try context.save()
        }
        try await fixture.stack.on(.main) { context in
            #expect(try context.fetch(Nullified.all).map { $0.owner == nil } == [true])
            #expect(try context.count(Cascaded.all) == 0)
            #expect(try context.count(Untouched.where { $0.owner != nil }) == 1)
            try context.commit()
        }
        #expect(try counts(fixture) == [0, 1, 0, 0, 1])
        try await fixture.close()
    }

    @Test(
        "A reference that a delete clears is not a conflict if another context has deleted the referring object",
        arguments: [true, false]
    )
    func nullifiedElsewhere(isSaved: Bool) async throws {
        let fixture = try await SavingFixture()
        let id = try await family(fixture)
        try await fixture.stack.on(.network) { context in
            context.delete(try #require(try context.find(id)))
            #expect(try context.fetch(Nullified.all).map { $0.owner == nil } == [true])
        }
        // If the object was changed as well, it is a conflict.
        try await fixture.stack.on(.other) { context in
            context.delete(try #require(try context.find(id)))
            try #require(try context.first(Nullified.all)).name = "changed"
        }
        try await fixture.stack.background { context in
            context.delete(try #require(try context.first(Nullified.all)))
            if isSaved { try context.save() } else { try context.commit() }
        }
        try await fixture.stack.on(.network) { context in try context.save() }
        await expect(.conflict) { try await fixture.stack.on(.other) { context in try context.save() } }
        try await fixture.stack.on(.other) { context in context.rollback() }
        try await fixture.stack.on(.main) { context in
            #expect(try context.count(Owner.all) == 0 && context.count(Nullified.all) == 0)
            try context.commit()
        }
        #expect(try counts(fixture) == [0, 0, 0, 0, 1])
        try await fixture.close()
    }

    @Test(
        "A reference that a delete clears is not a conflict of a commit if another process deleted the object",
        .aboutTheFile("changes rows of the file from outside"),
        arguments: [MergePolicy.error, .mine]
    )
    func nullifiedElsewhere(policy: MergePolicy) async throws {
        let fixture = try await SavingFixture()
        let id = try await family(fixture)
        try await fixture.stack.overStore { context in
            context.mergePolicy = policy
            context.delete(try #require(try context.find(id)))
            // Another process deletes the rows. This process does not hear of the delete before the commit.
            _ = try plainRows(fixture.url, "DELETE FROM Nullified")
            try context.commit()
        }
        #expect(try counts(fixture) == [0, 0, 0, 0, 1])
        try await fixture.close()
    }

    @Test("A denied delete names the object that blocks it, at a save and at a commit")
    func deny() async throws {
        let fixture = try await SavingFixture()
        let id = try await family(fixture, deny: true)
        let blocking = try await fixture.stack.on(.network) { context in
            context.delete(try #require(try context.find(id)))
            return try #require(try context.first(Denying.all)).id
        }
        let expected = SaveOutcome(code: .deleteDenied, places: ["\(blocking.rawValue).owner"])
        #expect(try await fixture.save(.network) == expected)
        #expect(try await fixture.commit(.network) == expected)
        #expect(try counts(fixture) == [1, 0, 1, 1, 1])
        try await fixture.stack.on(.network) { context in
            context.delete(try #require(try context.first(Denying.all)))
            try context.commit()
        }
        #expect(try counts(fixture) == [0, 1, 0, 0, 1])
        try await fixture.close()
    }

    @Test("A denied delete names the blocking object even if the same unsaved changes have set its reference")
    func relatedBefore() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.stack.on(.root) { context in
            let owner = context.insert(Owner(name: "o"))
            context.insert(Denying(name: "d"))
            try context.commit()
            return owner.id
        }
        let blocking = try await fixture.stack.on(.network) { context in
            let denying = try #require(try context.first(Denying.all))
            let owner = try #require(try context.find(id))
            denying.owner = owner
            context.delete(owner)
            return denying.id
        }
        let expected = SaveOutcome(code: .deleteDenied, places: ["\(blocking.rawValue).owner"])
        #expect(try await fixture.commit(.network) == expected)
        #expect(try await fixture.save(.network) == expected)
        try await fixture.close()
    }

    @Test("Delete rules apply to rows that reached the store after the delete", arguments: [false, true])
    func cameLater(_ deny: Bool) async throws {
        let fixture = try await SavingFixture()
        let id = try await deletedOwner(fixture)
        let blocking = try await fixture.stack.on(.other) { context in
            let owner = try #require(try context.find(id))
            context.insert(Nullified(name: "n", owner: owner))
            context.insert(Cascaded(name: "c", owner: owner))
            let denying = deny ? context.insert(Denying(name: "d", owner: owner)).id.rawValue : 0
            try context.commit()
            return denying
        }
        let outcome = try await fixture.commit(.network)
        if deny {
            #expect(outcome == SaveOutcome(code: .deleteDenied, places: ["\(blocking).owner"]))
            #expect(try counts(fixture) == [1, 0, 1, 1, 0])
        } else {
            #expect(outcome == .success)
            #expect(try counts(fixture) == [0, 1, 0, 0, 0])
            try await fixture.stack.on(.other) { context in
                let nullified = try context.fetch(Nullified.all)
                #expect(nullified.map { $0.owner == nil } == [true])
                #expect(try context.count(Cascaded.all) == 0)
            }
        }
        try await fixture.close()
    }

    @Test("A parent's unsaved reference does not block a child's commit of a delete, but fails at the parent's commit")
    func fromUnsaved() async throws {
        let fixture = try await SavingFixture()
        let id = try await deletedOwner(fixture)
        let denying = try await fixture.stack.on(.main) { context in
            context.insert(Denying(name: "d", owner: try context.find(id))).id
        }
        #expect(try await fixture.save(.network).code == .deleteDenied, "a save sees the parent's row")
        #expect(try await fixture.commit(.network) == .success)
        #expect(try counts(fixture)[0] == 0)
        #expect(
            try await fixture.commit(.main)
                == SaveOutcome(code: .missingReference, places: ["\(denying.rawValue).owner"])
        )
        try await fixture.close()
    }

    @Test(
        "Delete rules apply to rows that reached a lower layer after the delete, in a chain and in single saves",
        arguments: [false, true],
        [false, true]
    )
    func cameLaterBeneath(_ deny: Bool, isChain: Bool) async throws {
        let fixture = try await SavingFixture()
        let id = try await deletedOwner(fixture)
        let blocking = try await fixture.stack.on(.main) { context in
            let owner = try #require(try context.find(id))
            context.insert(Nullified(name: "n", owner: owner))
            context.insert(Cascaded(name: "c", owner: owner))
            return deny ? context.insert(Denying(name: "d", owner: owner)).id.rawValue : 0
        }
        var outcome = SaveOutcome.success
        if isChain {
            outcome = try await fixture.saveChain(.network)
        } else {
            outcome = try await fixture.save(.network)
            if outcome == .success { outcome = try await fixture.save(.main) }
            if outcome == .success { outcome = try await fixture.save(.root) }
        }
        if deny {
            #expect(outcome == SaveOutcome(code: .deleteDenied, places: ["\(blocking).owner"]))
            #expect(try counts(fixture) == [1, 0, 0, 0, 0])
            #expect(try await fixture.stack.on(.main) { try $0.count(Cascaded.all) } == 1)
        } else {
            #expect(outcome == .success)
            #expect(try counts(fixture) == [0, 1, 0, 0, 0])
            #expect(try await fixture.stack.on(.root) { try $0.fetch(Nullified.all).map { $0.owner == nil } } == [true])
        }
        try await fixture.close()
    }

    @Test("An edited object whose reference a delete rule clears in the store shows both changes after the commit")
    func emptiedAndEdited() async throws {
        let fixture = try await SavingFixture()
        let id = try await family(fixture)
        let free = try await fixture.stack.on(.root) { context in
            let free = context.insert(Nullified(name: "free"))
            try context.commit()
            return free.id
        }
        try await fixture.stack.on(.network) { context in
            let edited = try #require(try context.find(free))
            edited.name = "edited"
            context.delete(try #require(try context.find(id)))
            try await fixture.stack.on(.root) { context in
                try context.find(free)?.owner = try context.find(id)
                try context.commit()
            }
            try context.commit()
            #expect(edited.name == "edited" && edited.owner == nil)
        }
        #expect(try counts(fixture)[1] == 2)
        try await fixture.close()
    }

    @Test("A failed save takes back the effects of its delete rules")
    func takenBack() async throws {
        let fixture = try await SavingFixture()
        let id = try await family(fixture)
        let cell = try await fixture.cell(1)
        try await fixture.edit(cell, in: .network, a: 2)
        try await fixture.stack.on(.network) { context in context.delete(try #require(try context.find(id))) }
        try await fixture.edit(cell, in: .main, a: 3)
        try await fixture.stack.on(.main) { context in
            let owner = try context.find(id)
            context.insert(Nullified(name: "late", owner: owner))
            context.insert(Cascaded(name: "late", owner: owner))
        }
        func late(in name: ContextName) async throws -> [Int] {
            try await fixture.stack.on(name) { context in
                [try context.count(Nullified.where { $0.owner != nil }), try context.count(Cascaded.all)]
            }
        }
        #expect(try await fixture.save(.network) == .conflict(cell, "a"))
        #expect(try await late(in: .network) == [1, 1])
        #expect(try await fixture.save(.network, .mine) == .success)
        #expect(try await late(in: .main) == [0, 0])
        try await fixture.close()
    }

    /// Renames all members of the owner's relationships in another context, and returns the outcome of network's
    /// commit.
    private func commitOverRenames(_ fixture: SavingFixture, _ policy: MergePolicy) async throws -> SaveOutcome {
        try await fixture.stack.on(.other) { context in
            for row in try context.fetch(Nullified.all) { row.name += "!" }
            for row in try context.fetch(Cascaded.all) { row.name += "!" }
            for row in try context.fetch(Denying.all) { row.name += "!" }
            try context.commit()
        }
        return try await fixture.commit(.network, policy)
    }

    @Test("An object that .theirs keeps does not refer to an object that the same commit deletes")
    func kept() async throws {
        let fixture = try await SavingFixture()
        let id = try await family(fixture)
        try await fixture.stack.on(.network) { context in
            try context.fetch(Nullified.all).forEach(context.delete)
            context.delete(try #require(try context.find(id)))
        }
        #expect(try await commitOverRenames(fixture, .theirs) == .success)
        // The object would have been kept for its new name alone.
        #expect(try counts(fixture) == [0, 1, 0, 0, 1])
        try await fixture.stack.on(.network) { context in
            #expect(try context.fetch(Nullified.all).map { "\($0.name) \($0.owner == nil)" } == ["n! true"])
            let (count, hasChanges) = (try context.count(Cascaded.all), context.hasChanges)
            #expect(count == 0 && !hasChanges)
        }
        try await fixture.close()
    }

    @Test("An object that .theirs keeps denies the delete of the object that it refers to")
    func keptDenies() async throws {
        let fixture = try await SavingFixture()
        let id = try await family(fixture, deny: true)
        let denying = try await fixture.stack.on(.network) { context in
            let denying = try #require(try context.first(Denying.all))
            context.delete(denying)
            context.delete(try #require(try context.find(id)))
            return denying.id
        }
        let outcome = try await commitOverRenames(fixture, .theirs)
        #expect(outcome == SaveOutcome(code: .deleteDenied, places: ["\(denying.rawValue).owner"]))
        #expect(try counts(fixture) == [1, 0, 1, 1, 1])
        try await fixture.close()
    }

    @Test("An object whose reference .theirs leaves to others is deleted together with the object it refers to")
    func keptReference() async throws {
        let fixture = try await SavingFixture()
        let id = try await family(fixture)
        try await fixture.stack.on(.root) { context in
            for name in ["first", "mine"] { context.insert(Owner(name: name)) }
            try #require(try context.first(Cascaded.all)).owner = try context.first(Owner.where { $0.name == "first" })
            try context.commit()
        }
        try await fixture.stack.on(.network) { context in
            try #require(try context.first(Cascaded.all)).owner = try context.first(Owner.where { $0.name == "mine" })
            context.delete(try #require(try context.find(id)))
        }
        try await fixture.stack.on(.other) { context in
            try #require(try context.first(Cascaded.all)).owner = try context.find(id)
            try context.commit()
        }
        #expect(try await fixture.commit(.network, .theirs) == .success)
        #expect(try counts(fixture) == [2, 1, 0, 0, 1])
        try await fixture.close()
    }

    @Test("No reference remains to an object that a cascade deletes because of a reference that .theirs kept")
    func keptReferenceOfReferred() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("kept.sqlite")
        let stack = try await ContextStack.open(.sqlite(url), models: Soak.models)
        try await stack.on(.root) { context in
            for title in ["gone", "first", "mine"] { context.insert(Soak.Shelf(title: title)) }
            let item = context.insert(Soak.Item(label: "item", value: 1))
            item.shelf = try context.first(Soak.Shelf.where { $0.title == "first" })
            item.note = Soak.Note(text: "note")
            item.tags.insert(Soak.Tag(name: "tag"))
            context.insert(Soak.List(name: "list")).items.insert(item)
            try context.commit()
        }
        try await stack.on(.main) { context in
            let shelves = try context.fetch(Soak.Shelf.sorted { $0.title.ascending })
            try #require(try context.first(Soak.Item.all)).shelf = shelves[2]
            context.delete(shelves[1])
        }
        try await stack.on(.root) { context in
            let gone = try context.first(Soak.Shelf.where { $0.title == "gone" })
            try #require(try context.first(Soak.Item.all)).shelf = gone
            try context.commit()
        }
        try await stack.on(.main) { context in
            context.mergePolicy = .theirs
            try context.commit()
        }
        let (items, notes, shown) = try await stack.on(.main) { context in
            let note = try context.first(Soak.Note.all)
            return (try context.count(Soak.Item.all), try context.count(Soak.Note.all), note?.item?.label)
        }
        #expect(items == 0 && notes == 1 && shown == nil)
        let dangling = try plainRows(
            url,
            """
            SELECT (SELECT count(*) FROM Note WHERE item IS NOT NULL), \
            (SELECT count(*) FROM \(Soak.Item._$schema.name)_tags), 0
            """
        )
        #expect(dangling.first == [0, 0, 0])
        try await stack.close()
    }

    @Test("A row that .mine brings back is refused if it refers to an object that is gone")
    func broughtBack() async throws {
        let fixture = try await SavingFixture()
        let id = try await family(fixture)
        let cascaded = try await fixture.stack.on(.network) { context in
            let cascaded = try #require(try context.first(Cascaded.all))
            cascaded.name = "mine"
            return cascaded.id
        }
        try await fixture.stack.on(.other) { context in
            context.delete(try #require(try context.find(id)))
            try context.commit()
        }
        let outcome = try await fixture.commit(.network, .mine)
        #expect(outcome == SaveOutcome(code: .missingReference, places: ["\(cascaded.rawValue).owner"]))
        #expect(try counts(fixture) == [0, 1, 0, 0, 1])
        try await fixture.close()
    }
}
