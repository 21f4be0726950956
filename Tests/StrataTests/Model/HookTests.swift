import Testing

@testable import Strata

@Suite("Life cycle hooks", .timeLimit(.minutes(1)))
struct HookTests {
    @Test("Hooks run once for each insert and update, before timestamps, and the values they set are saved too")
    func announced() async throws {
        let stack = try await openHookStack(.rootOnly)
        try await stack.background { context in
            let memo = context.insert(Memo(name: "One"))
            #expect(context.takeLog() == [])
            try context.commit()
            #expect(context.takeLog() == ["insert One true"])
            #expect(memo.slug == "one" && memo.updatedAt != nil)
            try context.commit()
            #expect(context.takeLog() == [])
            memo.name = "Two"
            memo.touched = 1
            try context.commit()
            #expect(context.takeLog() == ["update Two"])
        }
        #expect(try await stack.background { try $0.fetch(Memo.self).map(\.slug) } == ["two"])
    }

    @Test("A context calls hooks for its own edits only, and a parent does not for changes that a child has saved")
    func once() async throws {
        let stack = try await openHookStack()
        let child = try stack.create(.private)
        try await child.perform { context in
            context.insert(Memo(name: "One"))
            try context.save()
            #expect(context.takeLog() == ["insert One true"])
        }
        try await stack.on(.main) { context in
            try context.save()
            #expect(context.takeLog() == [])
            try #require(try context.first(Memo.all)).touched = 2
            #expect(context.takeLog() == ["fetch One"])
        }
        try await stack.save()
        try await stack.on(.main) { #expect($0.takeLog() == ["update One"]) }
        try await stack.on(.root) { #expect($0.takeLog() == []) }
    }

    @Test("Hooks also run for an object that the program no longer holds")
    func released() async throws {
        let stack = try await openHookStack(.rootOnly)
        let context = try stack.create(.private)
        try await context.perform { _ = $0.insert(Memo(name: "One")) }
        try await context.perform { context in
            #expect(context.live.identity.count == 0)
            try context.commit()
            #expect(context.takeLog() == ["fetch One", "insert One true"])
            #expect(try context.first(Memo.all)?.slug == "one")
        }
    }

    @Test("After a failed save the hooks run for later edits, and an insert hook runs only once")
    func failedSave() async throws {
        let stack = try await openHookStack(.rootOnly)
        try await stack.background { context in
            let good = context.insert(Memo(name: "Good"))
            let bad = context.insert(Memo(name: "Bad"))
            let late = context.insert(Memo(name: "Late"))
            #expect(throws: HookFailure(name: "Bad")) { try context.commit() }
            #expect(context.takeLog() == ["insert Good true", "insert Bad true"])
            #expect(good.slug == "good" && late.slug == "" && good.isInserted)
            bad.name = "Better"
            try context.commit()
            #expect(context.takeLog() == ["update Better", "insert Late true"])
            #expect(bad.slug == "better" && late.slug == "late")
            bad.name = "Bad"
            #expect(throws: HookFailure(name: "Bad")) { try context.commit() }
            context.rollback()
            #expect(bad.name == "Better")
            _ = context.takeLog()
            try context.commit()
            #expect(context.takeLog() == [])
        }
    }

    @Test("Hooks may insert, edit and delete other objects, and each of these runs its hooks once")
    func others() async throws {
        let stack = try await openHookStack(.rootOnly)
        try await stack.background { context in
            context.insert(Memo(name: "Parent"))
            context.insert(Memo(name: "Killer"))
            context.insert(Memo(name: "Victim"))
            try context.commit()
            #expect(
                context.takeLog() == [
                    "insert Parent true", "insert Killer true", "delete Victim 0", "insert Child true",
                ]
            )
            let child = try #require(try context.first(Memo.where { $0.name == "Child" }))
            #expect(child.slug == "child")
            child.name = "Toucher"
            try context.commit()
            #expect(context.takeLog() == ["update Toucher", "update Parent", "update Killer"])
        }
        try await stack.background { context in
            let memos = try context.fetch(Memo.sorted { $0.name })
            #expect(memos.map { "\($0.name) \($0.touched)" } == ["Killer 1", "Parent 1", "Toucher 0"])
        }
    }

    @Test("Endless hooks, and a save inside a hook, are errors, and nothing is saved")
    func endless() async throws {
        let stack = try await openHookStack(.rootOnly)
        try await stack.background { context in
            context.insert(Endless(number: 1))
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .invalidState)
            context.rollback()
            let count = try context.count(Endless.self)
            #expect(count == 0)
            context.insert(Memo(name: "Saver"))
            let nested = #expect(throws: StrataError.self) { try context.commit() }
            #expect(nested?.code == .invalidState)
            context.rollback()
        }
        #expect(try await stack.background { try $0.count(Memo.self) } == 0)
    }

    @Test("A delete hook runs once, also for a delete by rule, while all objects still exist")
    func deletes() async throws {
        let stack = try await openHookStack(.rootOnly)
        try await stack.background { context in
            let memo = context.insert(Memo(name: "Again"))
            memo.lines.insert(MemoLine(text: "a"))
            memo.lines.insert(MemoLine(text: "b"))
            context.insert(Memo(name: "Counted"))
            context.insert(Memo(name: "Counter"))
            try context.commit()
        }
        try await stack.background { context in
            let memo = try #require(try context.first(Memo.where { $0.name == "Again" }))
            _ = context.takeLog()
            context.delete(memo)
            context.delete(memo)
            #expect(context.takeLog() == ["delete Again 2", "delete line a of -", "delete line b of -"])
            context.delete(try #require(try context.first(Memo.where { $0.name == "Counted" })))
            let counter = try #require(try context.first(Memo.where { $0.name == "Counter" }))
            #expect(counter.touched == 1 && memo.isDeleted)
            _ = context.takeLog()
            try context.commit()
            #expect(context.takeLog() == ["update Counter"])
            #expect(try context.count(MemoLine.self) == 0)
        }
    }

    @Test("Objects that a hook has deleted in a failed save are rolled back with everything deleted along")
    func deletesInHooks() async throws {
        let stack = try await openHookStack(.rootOnly)
        try await stack.background { context in
            let memo = context.insert(Memo(name: "Victim"))
            memo.lines.insert(MemoLine(text: "a"))
            try context.commit()
            context.insert(Memo(name: "Killer"))
            context.insert(Memo(name: "Bad"))
            #expect(throws: HookFailure(name: "Bad")) { try context.commit() }
            #expect(memo.isDeleted)
            context.rollback([memo])
            #expect(!memo.isDeleted)
            #expect(try memo.lines.fetch().map(\.text) == ["a"])
        }
    }

    @Test("An undo takes back an insert that a refused save has retried after the hooks")
    func retriedInsert() async throws {
        let stack = try await openHookStack(.rootOnly)
        try await stack.background { context in
            let gone = context.insert(Memo(name: "Gone"))
            try context.commit()
            context.undoLevels = 1
            context.insert(Memo(name: "Postponer"))
            context.delete(gone)
            // A use of a deleted object, which the save refuses.
            context.insert(gone)
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .invalidState)
            let pending = try context.fetch(Memo.sorted { $0.name }).map(\.name)
            #expect(pending == ["Postponed", "Postponer"])
            try context.undo()
            let left = try context.fetch(Memo.self).map(\.name)
            #expect(left == ["Gone"])
            context.rollback()
        }
    }

    @Test("Every way to fetch an object runs its fetch hook, for stored and pending rows")
    func fetched() async throws {
        let stack = try await openHookStack()
        let id = try await stack.on(.main) { context in
            let memo = context.insert(Memo(name: "Seeker"))
            memo.lines.insert(MemoLine(text: "a"))
            context.insert(Memo(name: "Sought"))
            context.insert(Memo(name: "Other"))
            #expect(context.takeLog() == [])
            return memo.id
        }
        // The rows are pending in the parent, and in the second round stored.
        for round in 0..<2 {
            try await stack.background { context in
                let memos = try context.fetch(Memo.where { $0.name != "Sought" })
                #expect(memos.map(\.label) == ["<Seeker>", "<Other>"])
                #expect(context.takeLog() == ["fetch Seeker", "fetch Other", "fetch Sought"], "round \(round)")
                #expect(try context.fetch(Memo.self).count == 3)
                #expect(context.takeLog() == [])
            }
            try await stack.background { context in
                let memo = try #require(try context.find(id))
                #expect(memo.label == "<Seeker>")
                #expect(context.takeLog() == ["fetch Seeker", "fetch Sought"])
            }
            #expect(try await stack.background { try $0.first(MemoLine.all)?.memo?.label } == "<Seeker>")
            if round == 0 { try await stack.commit(.main) }
        }
    }

    @Test("A model without hooks has none registered, and other models have exactly those that they write")
    func flags() throws {
        let schema = try Schema(hookModels)
        let hooks = schema.entities.map { entity in
            let hooks = entity.info.hooks
            return [
                hooks.willInsert.run != nil, hooks.willUpdate.run != nil, hooks.willDelete.run != nil,
                hooks.didFetch.run != nil, hooks.validate.run != nil, hooks.validateDelete.run != nil,
            ]
        }
        let none = Array(repeating: false, count: 6)
        #expect(hooks[0] == [true, true, true, true, false, false])
        #expect(hooks[1] == [false, false, true, false, false, false])
        #expect(hooks[3] == [false, false, false, false, true, true])
        #expect(hooks[5] == none)
    }
}

@Suite("Validation across objects", .timeLimit(.minutes(1)))
struct ContextValidationTests {
    private func failures(_ body: () throws -> Void) -> [String] {
        let error = #expect(throws: StrataError.self) { try body() }
        #expect(error?.code == .validation)
        return error?.details.map { "\($0.model).\($0.column ?? "") \($0.message)" } ?? []
    }

    @Test("Inserted and changed objects are checked with the state that the context shows, beside the checks of rows")
    func checked() async throws {
        let stack = try await openHookStack()
        try await stack.on(.main) { context in
            let rack = context.insert(Rack(room: 1))
            rack.crates.insert(Crate())
            try context.save()
        }
        try await stack.background { context in
            let rack = try #require(try context.first(Rack.all))
            let crate = context.insert(Crate(size: 11, rack: rack))
            #expect(
                failures { try context.save() } == ["Crate.rack is too much", "Crate.size must be between 0 and 10"]
            )
            crate.size = 1
            rack.room = 2
            try context.save()
            rack.room = 1
            #expect(failures { try context.commit() } == ["Rack.crates has no room for 2"])
            context.rollback()
            try context.commit()
        }
    }

    @Test("A delete can be refused, even of an object that the program does not hold")
    func deletes() async throws {
        let stack = try await openHookStack(.rootOnly)
        let handle = try stack.create(.private)
        try await handle.perform { context in
            context.insert(Rack(room: 7))
            context.insert(Rack(room: 8))
            try context.commit()
            for rack in try context.fetch(Rack.self) { context.delete(rack) }
        }
        try await handle.perform { context in
            #expect(failures { try context.commit() } == ["Rack. is not to be deleted"])
            context.rollback()
            let count = try context.count(Rack.self)
            #expect(count == 2)
        }
    }

    @Test("A validation that edits is refused")
    func edits() async throws {
        let stack = try await openHookStack(.rootOnly)
        try await stack.background { context in
            context.insert(Rack(room: 13))
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .invalidState)
            context.rollback()
        }
    }
}
