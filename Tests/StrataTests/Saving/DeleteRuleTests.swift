import StoreModels
import Strata
import Testing

/// Delete rules at each boundary, and against the store.
@Suite struct DeleteRuleTests {
    /// A committed owner with one object of each delete rule.
    private func family(_ house: House, deny: Bool = false) async throws -> ObjectID<Owner> {
        try await house.stack.on(.root) { context in
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
    private func deletedOwner(_ house: House) async throws -> ObjectID<Owner> {
        let id = try await house.stack.on(.root) { context in
            let owner = context.insert(Owner(name: "o"))
            try context.commit()
            return owner.id
        }
        try await house.stack.on(.network) { context in context.delete(try #require(try context.find(id))) }
        return id
    }

    private func counts(_ house: House) throws -> [Int] {
        try plainRows(
            house.url,
            """
            SELECT (SELECT count(*) FROM Owner), (SELECT count(*) FROM Nullified WHERE owner IS NULL), \
            (SELECT count(*) FROM Cascaded), (SELECT count(*) FROM Denying), \
            (SELECT count(*) FROM Untouched WHERE owner IS NOT NULL)
            """
        )[0]
    }

    @Test("Nullify, cascade and noAction apply at a save, and then in the store")
    func rules() async throws {
        let house = try await House()
        let id = try await family(house)
        try await house.stack.on(.network) { context in
            context.delete(try #require(try context.find(id)))
            try context.save()
        }
        try await house.stack.on(.main) { context in
            #expect(try context.fetch(Nullified.all).map { $0.owner == nil } == [true])
            #expect(try context.count(Cascaded.all) == 0)
            #expect(try context.count(Untouched.where { $0.owner != nil }) == 1)
            try context.commit()
        }
        #expect(try counts(house) == [0, 1, 0, 0, 1])
        try await house.close()
    }

    @Test(
        "A reference that a delete clears is not a conflict if another context has deleted the referring object",
        arguments: [true, false]
    )
    func nullifiedElsewhere(isSaved: Bool) async throws {
        let house = try await House()
        let id = try await family(house)
        try await house.stack.on(.network) { context in
            context.delete(try #require(try context.find(id)))
            #expect(try context.fetch(Nullified.all).map { $0.owner == nil } == [true])
        }
        // If the object was changed as well, it is a conflict.
        try await house.stack.on(.other) { context in
            context.delete(try #require(try context.find(id)))
            try #require(try context.first(Nullified.all)).name = "changed"
        }
        try await house.stack.background { context in
            context.delete(try #require(try context.first(Nullified.all)))
            if isSaved { try context.save() } else { try context.commit() }
        }
        try await house.stack.on(.network) { context in try context.save() }
        await expect(.conflict) { try await house.stack.on(.other) { context in try context.save() } }
        try await house.stack.on(.other) { context in context.rollback() }
        try await house.stack.on(.main) { context in
            #expect(try context.count(Owner.all) == 0 && context.count(Nullified.all) == 0)
            try context.commit()
        }
        #expect(try counts(house) == [0, 0, 0, 0, 1])
        try await house.close()
    }

    @Test(
        "A reference that a delete clears is not a conflict of a commit if another process deleted the object",
        arguments: [MergePolicy.error, .mine]
    )
    func nullifiedElsewhere(policy: MergePolicy) async throws {
        let house = try await House()
        let id = try await family(house)
        try await house.stack.overStore { context in
            context.mergePolicy = policy
            context.delete(try #require(try context.find(id)))
            // Another process deletes the rows. This process does not hear of the delete before the commit.
            _ = try plainRows(house.url, "DELETE FROM Nullified")
            try context.commit()
        }
        #expect(try counts(house) == [0, 0, 0, 0, 1])
        try await house.close()
    }

    @Test("A denied delete names the object that blocks it, at a save and at a commit")
    func deny() async throws {
        let house = try await House()
        let id = try await family(house, deny: true)
        let blocking = try await house.stack.on(.network) { context in
            context.delete(try #require(try context.find(id)))
            return try #require(try context.first(Denying.all)).id
        }
        let expected = Outcome(code: .deleteDenied, places: ["\(blocking.number).owner"])
        #expect(try await house.save(.network) == expected)
        #expect(try await house.commit(.network) == expected)
        #expect(try counts(house) == [1, 0, 1, 1, 1])
        try await house.stack.on(.network) { context in
            context.delete(try #require(try context.first(Denying.all)))
            try context.commit()
        }
        #expect(try counts(house) == [0, 1, 0, 0, 1])
        try await house.close()
    }

    @Test("A denied delete names the blocking object even if the same unsaved changes have set its reference")
    func relatedBefore() async throws {
        let house = try await House()
        let id = try await house.stack.on(.root) { context in
            let owner = context.insert(Owner(name: "o"))
            context.insert(Denying(name: "d"))
            try context.commit()
            return owner.id
        }
        let blocking = try await house.stack.on(.network) { context in
            let denying = try #require(try context.first(Denying.all))
            let owner = try #require(try context.find(id))
            denying.owner = owner
            context.delete(owner)
            return denying.id
        }
        let expected = Outcome(code: .deleteDenied, places: ["\(blocking.number).owner"])
        #expect(try await house.commit(.network) == expected)
        #expect(try await house.save(.network) == expected)
        try await house.close()
    }

    @Test("Delete rules apply to rows that reached the store after the delete", arguments: [false, true])
    func cameLater(_ deny: Bool) async throws {
        let house = try await House()
        let id = try await deletedOwner(house)
        let blocking = try await house.stack.on(.other) { context in
            let owner = try #require(try context.find(id))
            context.insert(Nullified(name: "n", owner: owner))
            context.insert(Cascaded(name: "c", owner: owner))
            let denying = deny ? context.insert(Denying(name: "d", owner: owner)).id.number : 0
            try context.commit()
            return denying
        }
        let outcome = try await house.commit(.network)
        if deny {
            #expect(outcome == Outcome(code: .deleteDenied, places: ["\(blocking).owner"]))
            #expect(try counts(house) == [1, 0, 1, 1, 0])
        } else {
            #expect(outcome == .success)
            #expect(try counts(house) == [0, 1, 0, 0, 0])
            try await house.stack.on(.other) { context in
                let nullified = try context.fetch(Nullified.all)
                #expect(nullified.map { $0.owner == nil } == [true])
                #expect(try context.count(Cascaded.all) == 0)
            }
        }
        try await house.close()
    }

    @Test("A parent's unsaved reference does not block a child's commit of a delete, but fails at the parent's commit")
    func fromUnsaved() async throws {
        let house = try await House()
        let id = try await deletedOwner(house)
        let denying = try await house.stack.on(.main) { context in
            context.insert(Denying(name: "d", owner: try context.find(id))).id
        }
        #expect(try await house.save(.network).code == .deleteDenied, "a save sees the parent's row")
        #expect(try await house.commit(.network) == .success)
        #expect(try counts(house)[0] == 0)
        #expect(try await house.commit(.main) == Outcome(code: .missingReference, places: ["\(denying.number).owner"]))
        try await house.close()
    }

    @Test(
        "Delete rules apply to rows that reached a lower layer after the delete, in a chain and in single saves",
        arguments: [false, true],
        [false, true]
    )
    func cameLaterBeneath(_ deny: Bool, isChain: Bool) async throws {
        let house = try await House()
        let id = try await deletedOwner(house)
        let blocking = try await house.stack.on(.main) { context in
            let owner = try #require(try context.find(id))
            context.insert(Nullified(name: "n", owner: owner))
            context.insert(Cascaded(name: "c", owner: owner))
            return deny ? context.insert(Denying(name: "d", owner: owner)).id.number : 0
        }
        var outcome = Outcome.success
        if isChain {
            outcome = try await house.saveChain(.network)
        } else {
            outcome = try await house.save(.network)
            if outcome == .success { outcome = try await house.save(.main) }
            if outcome == .success { outcome = try await house.save(.root) }
        }
        if deny {
            #expect(outcome == Outcome(code: .deleteDenied, places: ["\(blocking).owner"]))
            #expect(try counts(house) == [1, 0, 0, 0, 0])
            #expect(try await house.stack.on(.main) { try $0.count(Cascaded.all) } == 1)
        } else {
            #expect(outcome == .success)
            #expect(try counts(house) == [0, 1, 0, 0, 0])
            #expect(try await house.stack.on(.root) { try $0.fetch(Nullified.all).map { $0.owner == nil } } == [true])
        }
        try await house.close()
    }

    @Test("An edited object whose reference a delete rule clears in the store shows both changes after the commit")
    func emptiedAndEdited() async throws {
        let house = try await House()
        let id = try await family(house)
        let free = try await house.stack.on(.root) { context in
            let free = context.insert(Nullified(name: "free"))
            try context.commit()
            return free.id
        }
        try await house.stack.on(.network) { context in
            let edited = try #require(try context.find(free))
            edited.name = "edited"
            context.delete(try #require(try context.find(id)))
            try await house.stack.on(.root) { context in
                try context.find(free)?.owner = try context.find(id)
                try context.commit()
            }
            try context.commit()
            #expect(edited.name == "edited" && edited.owner == nil)
        }
        #expect(try counts(house)[1] == 2)
        try await house.close()
    }

    @Test("A failed save takes back the effects of its delete rules")
    func takenBack() async throws {
        let house = try await House()
        let id = try await family(house)
        let cell = try await house.cell(1)
        try await house.edit(cell, in: .network, a: 2)
        try await house.stack.on(.network) { context in context.delete(try #require(try context.find(id))) }
        try await house.edit(cell, in: .main, a: 3)
        try await house.stack.on(.main) { context in
            let owner = try context.find(id)
            context.insert(Nullified(name: "late", owner: owner))
            context.insert(Cascaded(name: "late", owner: owner))
        }
        func late(in name: ContextName) async throws -> [Int] {
            try await house.stack.on(name) { context in
                [try context.count(Nullified.where { $0.owner != nil }), try context.count(Cascaded.all)]
            }
        }
        #expect(try await house.save(.network) == .conflict(cell, "a"))
        #expect(try await late(in: .network) == [1, 1])
        #expect(try await house.save(.network, .mine) == .success)
        #expect(try await late(in: .main) == [0, 0])
        try await house.close()
    }

    /// Renames all members of the owner's relationships in another context, and returns the outcome of network's
    /// commit.
    private func commitOverRenames(_ house: House, _ policy: MergePolicy) async throws -> Outcome {
        try await house.stack.on(.other) { context in
            for row in try context.fetch(Nullified.all) { row.name += "!" }
            for row in try context.fetch(Cascaded.all) { row.name += "!" }
            for row in try context.fetch(Denying.all) { row.name += "!" }
            try context.commit()
        }
        return try await house.commit(.network, policy)
    }

    @Test("An object that .theirs keeps does not refer to an object that the same commit deletes")
    func kept() async throws {
        let house = try await House()
        let id = try await family(house)
        try await house.stack.on(.network) { context in
            try context.fetch(Nullified.all).forEach(context.delete)
            context.delete(try #require(try context.find(id)))
        }
        #expect(try await commitOverRenames(house, .theirs) == .success)
        // The object would have been kept for its new name alone.
        #expect(try counts(house) == [0, 1, 0, 0, 1])
        try await house.stack.on(.network) { context in
            #expect(try context.fetch(Nullified.all).map { "\($0.name) \($0.owner == nil)" } == ["n! true"])
            let (count, hasChanges) = (try context.count(Cascaded.all), context.hasChanges)
            #expect(count == 0 && !hasChanges)
        }
        try await house.close()
    }

    @Test("An object that .theirs keeps denies the delete of the object that it refers to")
    func keptDenies() async throws {
        let house = try await House()
        let id = try await family(house, deny: true)
        let denying = try await house.stack.on(.network) { context in
            let denying = try #require(try context.first(Denying.all))
            context.delete(denying)
            context.delete(try #require(try context.find(id)))
            return denying.id
        }
        let outcome = try await commitOverRenames(house, .theirs)
        #expect(outcome == Outcome(code: .deleteDenied, places: ["\(denying.number).owner"]))
        #expect(try counts(house) == [1, 0, 1, 1, 1])
        try await house.close()
    }

    @Test("An object whose reference .theirs leaves to others is deleted together with the object it refers to")
    func keptReference() async throws {
        let house = try await House()
        let id = try await family(house)
        try await house.stack.on(.root) { context in
            for name in ["first", "mine"] { context.insert(Owner(name: name)) }
            try #require(try context.first(Cascaded.all)).owner = try context.first(Owner.where { $0.name == "first" })
            try context.commit()
        }
        try await house.stack.on(.network) { context in
            try #require(try context.first(Cascaded.all)).owner = try context.first(Owner.where { $0.name == "mine" })
            context.delete(try #require(try context.find(id)))
        }
        try await house.stack.on(.other) { context in
            try #require(try context.first(Cascaded.all)).owner = try context.find(id)
            try context.commit()
        }
        #expect(try await house.commit(.network, .theirs) == .success)
        #expect(try counts(house) == [2, 1, 0, 0, 1])
        try await house.close()
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
        let house = try await House()
        let id = try await family(house)
        let cascaded = try await house.stack.on(.network) { context in
            let cascaded = try #require(try context.first(Cascaded.all))
            cascaded.name = "mine"
            return cascaded.id
        }
        try await house.stack.on(.other) { context in
            context.delete(try #require(try context.find(id)))
            try context.commit()
        }
        let outcome = try await house.commit(.network, .mine)
        #expect(outcome == Outcome(code: .missingReference, places: ["\(cascaded.number).owner"]))
        #expect(try counts(house) == [0, 1, 0, 0, 1])
        try await house.close()
    }
}
