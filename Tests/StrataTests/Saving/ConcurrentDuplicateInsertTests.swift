import Foundation
import StoreModels
import Testing

@testable import Strata

/// `.unique(onConflict: .update)` when others write the same values between the lookup and the write.
@Suite("Inserted objects that others insert at the same time") struct ConcurrentDuplicateInsertTests {
    @Model final class Person {
        @Attribute(.unique(onConflict: .update)) var email: String
        var name: String = ""
        var visits: Int = 0
        @Attribute(.createdAt) var createdAt: Date?
        @Attribute(.updatedAt) var updatedAt: Date?
        @Derived var label: String { "\(name) \(visits)" }
        @Attribute(.externalStorage) var photo: Data?
        var team: Team?
        var friend: Person?
        @Relationship(inverse: \Person.friend) var friends: Many<Person>
        @Relationship(inverse: \Badge.person) var badge: Badge?
        @Relationship(deleteRule: .cascade, inverse: \Call.person, ordered: true) var calls: Many<Call>
        @Relationship(inverse: \Club.people, ordered: true) var clubs: Many<Club>

        /// Runs while a save is prepared, after the save has looked up objects with the same values.
        func willInsert(in context: ObjectContext) { context.state[Meanwhile.self]?() }
        func willUpdate(in context: ObjectContext) { context.state[Meanwhile.self]?() }
    }

    @Model final class Team {
        @Attribute(.unique(onConflict: .update)) var name: String
        @Relationship(deleteRule: .deny, inverse: \Person.team) var people: Many<Person>
    }

    @Model final class Badge {
        var number: Int
        var person: Person?
    }

    @Model final class Call {
        var text: String
        var person: Person?
    }

    @Model final class Club {
        var name: String
        var people: Many<Person>
    }

    enum Meanwhile: ContextStateKey { typealias Value = () -> Void }

    private static let models: [any Model.Type] = [Person.self, Team.self, Badge.self, Call.self, Club.self]
    private static let policies: [MergePolicy] = [.error, .mine, .theirs]

    private func open(
        _ location: StoreLocation = .inMemory,
        _ policy: MergePolicy = .error,
        _ setUp: StackSetUp = .rootOnly
    ) async throws -> ContextStack {
        try await ContextStack.open(location, models: Self.models, stack: setUp, mergePolicy: policy)
    }

    /// The people in the store, as a new context reads them: address, name and visits.
    private func people(_ stack: ContextStack) async throws -> [String] {
        try await stack.background(parent: .named(.root)) { context in
            try context.fetch(Person.sorted { $0.email }).map { "\($0.email) \($0.name) \($0.visits)" }
        }
    }

    @Test(
        "An insert merges into an object that others inserted after the lookup, with all references that lead to it",
        arguments: policies
    )
    func inserted(_ policy: MergePolicy) async throws {
        let stack = try await open(.inMemory, policy)
        try await stack.background { context in
            let person = context.insert(Person(email: "a", name: "mine", visits: 7, photo: Data([1, 2])))
            person.friend = person
            person.team = Team(name: "Engines")
            person.badge = Badge(number: 2)
            let friend = context.insert(Person(email: "b", name: "friend", friend: person))
            for text in ["second", "third"] { person.calls.insert(Call(text: text)) }
            let club = Club(name: "new")
            person.clubs.insert(club)
            let pending = try context.beginCommit()
            let (theirs, created) = try await stack.background(parent: .named(.root)) { other in
                let person = other.insert(Person(email: "a", name: "theirs", visits: 1, photo: Data([3])))
                person.team = other.insert(Team(name: "Engines"))
                person.badge = Badge(number: 1)
                person.calls.insert(Call(text: "first"))
                person.clubs.insert(Club(name: "old"))
                try other.commit()
                return (person.id, person.createdAt)
            }
            try context.carryOut(pending)
            #expect(person.isDeleted && !context.hasChanges)
            let absorbing = try #require(try context.find(theirs))
            #expect(absorbing.name == "mine" && absorbing.visits == 7 && absorbing.createdAt == created)
            #expect(friend.friend === absorbing && absorbing.friend === absorbing)
            #expect(absorbing.badge?.number == 2)
            #expect(try club.people.fetch().map(\.id) == [theirs])
        }
        try await stack.background { context in
            let all = try context.fetch(Person.sorted { $0.email })
            #expect(all.map(\.name) == ["mine", "friend"] && all.map(\.visits) == [7, 0])
            #expect(all[0].label == "mine 7" && all[0].photo == Data([1, 2]) && all[0].updatedAt != nil)
            #expect(try context.count(Person.where { $0.label == "mine 7" }) == 1)
            #expect(all.map { $0.friend?.email } == ["a", "a"] && all[0].team?.name == "Engines")
            #expect(try context.count(Team.all) == 1)
            #expect(try context.fetch(Badge.sorted { $0.number }).map { $0.person?.email } == [nil, "a"])
            #expect(try all[0].calls.fetch().map(\.text).sorted() == ["first", "second", "third"])
            #expect(try all[0].clubs.fetch().map(\.name).sorted() == ["new", "old"])
        }
        let history = try await stack.history()
        #expect(history.last?.of(Person.self).updated.count == 1 && history.last?.of(Person.self).inserted.count == 1)
        try await stack.close()
    }

    @Test(
        "Others' changes of the existing object after the lookup count as older, even of values equal at the lookup",
        arguments: policies
    )
    func changed(_ policy: MergePolicy) async throws {
        let stack = try await open(.inMemory, policy)
        let id = try await stack.background { context in
            let person = context.insert(Person(email: "a", name: "first", visits: 5))
            try context.commit()
            return person.id
        }
        try await stack.background { context in
            context.insert(Person(email: "a", name: "mine", visits: 5))
            let pending = try context.beginCommit()
            try await stack.background(parent: .named(.root)) { other in
                let person = try #require(try other.find(id))
                (person.name, person.visits) = ("theirs", 6)
                try other.commit()
            }
            try context.carryOut(pending)
            let person = try #require(try context.find(id))
            #expect(person.name == "mine" && person.visits == 5)
        }
        #expect(try await people(stack) == ["a mine 5"])
        try await stack.close()
    }

    @Test(
        "An existing object deleted or renamed after the lookup comes back; a replaced one gives way to its successor"
    )
    func gone() async throws {
        for what in ["deleted", "replaced", "renamed"] {
            let stack = try await open()
            let id = try await stack.background { context in
                let person = context.insert(Person(email: "a", name: "first"))
                try context.commit()
                return person.id
            }
            let expected = try await stack.background { context in
                let mine = context.insert(Person(email: "a", name: "mine", visits: 5))
                let friend = context.insert(Person(email: "b", friend: mine))
                let pending = try context.beginCommit()
                let expected = try await stack.background(parent: .named(.root)) { other in
                    let person = try #require(try other.find(id))
                    if what == "renamed" { person.email = "c" } else { other.delete(person) }
                    try other.commit()
                    guard what == "replaced" else { return id }
                    let another = other.insert(Person(email: "a", name: "another"))
                    try other.commit()
                    return another.id
                }
                try context.carryOut(pending)
                #expect(mine.isDeleted && friend.friend?.id == expected && friend.friend?.name == "mine", "\(what)")
                return expected
            }
            #expect(try await people(stack) == ["a mine 5", "b  0"], "\(what)")
            try await stack.background { context in
                let person = try #require(try context.first(Person.where { $0.email == "a" }))
                let count = try person.friends.count
                #expect(person.id == expected && count == 1, "\(what)")
            }
            try await stack.close()
        }
    }

    @Test("A parent's references to an inserted object follow it when a child's commit merges it into a stored object")
    func referencesOfParents() async throws {
        let stack = try await open()
        try stack.push(.private, named: .network)
        let leaf = try await stack.on(.network) { _ in try stack.create(.private, named: .other) }
        let inserted = try await leaf.perform { context in
            let person = context.insert(Person(email: "a", name: "mine"))
            try context.save()
            return person.id
        }
        try await stack.on(.network) { context in
            _ = context.insert(Person(email: "b", friend: try context.find(inserted)))
        }
        let stored = try await stack.background(parent: .named(.root)) { context in
            let person = context.insert(Person(email: "a", name: "theirs"))
            try context.commit()
            return person.id
        }
        try await leaf.commit()
        try await stack.on(.network) { context in
            let friend = try #require(try context.first(Person.where { $0.email == "b" }))
            #expect(friend.friend?.id == stored && friend.friend?.name == "mine")
            try context.commit()
        }
        #expect(try await people(stack) == ["a mine 0", "b  0"])
        try await stack.close()
    }

    @Test("A unique value is still refused if a parent has deleted or renamed its holder without saving")
    func hiddenByParent() async throws {
        for isDeleted in [true, false] {
            let stack = try await open()
            let id = try await stack.background { context in
                let person = context.insert(Person(email: "a"))
                try context.commit()
                return person.id
            }
            try stack.push(.private, named: .network)
            try await stack.on(.network) { context in
                let person = try #require(try context.find(id))
                if isDeleted { context.delete(person) } else { person.email = "b" }
            }
            try await stack.background { context in
                context.insert(Person(email: "a", name: "mine"))
                let error = #expect(throws: StrataError.self) { try context.commit() }
                #expect(error?.code == .notUnique)
            }
            try await stack.close()
        }
    }

    @Test("In a chain, the insert of each context wins over the existing object that it merges into")
    func chain() async throws {
        let stack = try await open()
        let id = try await stack.background { context in
            let person = context.insert(Person(email: "a"))
            try context.commit()
            return person.id
        }
        try stack.push(.private, named: .network)
        let root = try stack[.root].id
        try await stack.on(.root) { context in _ = context.insert(Person(email: "a", name: "root", visits: 1)) }
        try await stack.on(.network) { context in _ = context.insert(Person(email: "b", name: "network", visits: 1)) }
        let ready = try await stack.on(.root) { try $0.prepareForChain() }
        try await stack[.network].perform { context in
            let pending = try context.beginCommit(with: [root: ready])
            try await stack.background(parent: .named(.root)) { other in
                try #require(try other.find(id)).visits = 9
                other.insert(Person(email: "b", name: "theirs", visits: 9))
                try other.commit()
            }
            try context.carryOut(pending)
            context.store.layers.thaw(ready.segments)
        }
        #expect(try await people(stack) == ["a root 1", "b network 1"])
        try await stack.close()
    }

    // MARK: Saves

    @Test(
        "A save into a parent, also in a savepoint, sees rows that another child has saved there after the lookup",
        arguments: policies,
        [false, true]
    )
    func saves(_ policy: MergePolicy, isInSavepoint: Bool) async throws {
        let stack = try await open(.inMemory, policy)
        try stack.push(.private, named: .network)
        let (mine, theirs) = try await stack.on(.network) { _ in
            (try stack.create(.private, named: "mine"), try stack.create(.private, named: "theirs"))
        }
        for round in 1...3 {
            try await mine.perform { context in
                context.insert(Person(email: "a", name: "mine", visits: round))
                context.state[Meanwhile.self] = { [weak context] in
                    context?.state[Meanwhile.self] = nil
                    do {
                        try waitForTask {
                            try await theirs.perform { other in
                                // In the second round, both contexts set the same number.
                                let visits = round == 2 ? round : 90 + round
                                other.insert(Person(email: "a", name: "theirs", visits: visits))
                                try other.save()
                            }
                        }
                    } catch { Issue.record(error) }
                }
                if isInSavepoint { try context.savepoint { try context.save() } } else { try context.save() }
                #expect(context.state[Meanwhile.self] == nil)
            }
            try await stack.on(.network) { context in
                let all = try context.fetch(Person.all)
                #expect(all.map(\.name) == ["mine"] && all.map(\.visits) == [round])
            }
            if round == 1 { try await stack.commit(.network) }
        }
        try await stack.commit(.network)
        #expect(try await people(stack) == ["a mine 3"])
        try await stack.close()
    }

    @Test("A save in a savepoint merges an insert at once, and a hook may edit the object that has absorbed it")
    func hookInSavepoint() async throws {
        let stack = try await open()
        let id = try await stack.background { context in
            let person = context.insert(Person(email: "a", name: "old"))
            try context.commit()
            return person.id
        }
        try await stack.background(parent: .named(.root)) { context in
            let stored = try #require(try context.find(id))
            context.state[Meanwhile.self] = {
                stored.name = stored.name.uppercased()
                stored.visits += 1
            }
            try context.savepoint {
                let person = context.insert(Person(email: "a", name: "new", visits: 7))
                try context.save()
                #expect(person.isDeleted && stored.name == "NEW" && stored.visits == 8)
                let count = try context.count(Person.all)
                #expect(count == 1)
            }
            context.state[Meanwhile.self] = nil
            #expect(stored.name == "NEW" && stored.visits == 8 && !context.hasChanges)
        }
        try await stack.on(.root) { try $0.commit() }
        #expect(try await people(stack) == ["a NEW 8"])
        try await stack.close()
    }

    // MARK: Many at once

    @Test("Tasks that insert the same values all commit, and leave one object of each", arguments: [1, 2])
    func manyTasks(_ count: Int) async throws {
        let folder = try ScratchFolder()
        var stacks: [ContextStack] = []
        for _ in 0..<count {
            stacks.append(try await open(.sqlite(folder.url.appendingPathComponent("race.sqlite"))))
        }
        let all = stacks
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    for index in 0..<25 {
                        try await all[task % count].background { context in
                            let team = Team(name: "t\(index % 5)")
                            context.insert(Person(email: "k\(index)", name: "\(task)", visits: index, team: team))
                            try context.commit()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        try await all[0].background { context in
            let (people, teams) = (try context.fetch(Person.all), try context.count(Team.all))
            #expect(people.count == 25 && teams == 5 && people.allSatisfy { $0.team != nil })
        }
        for stack in stacks { try await stack.close() }
    }

    @Test("Children that insert the same values all save into their parent, and leave one object of each")
    func manyChildren() async throws {
        let stack = try await open()
        try stack.push(.private, named: .network)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    for index in 0..<25 {
                        try await stack.background(parent: .named(.network)) { context in
                            context.insert(
                                Person(email: "k\(index)", name: "\(task)", team: Team(name: "t\(index % 5)"))
                            )
                            try context.save()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        try await stack.commit(.network)
        try await stack.background(parent: .named(.root)) { context in
            let counts = [try context.count(Person.all), try context.count(Team.all)]
            #expect(counts == [25, 5])
        }
        try await stack.close()
    }
}
