import Foundation
import Testing

@testable import Strata

@Suite("The traps of nested contexts", .timeLimit(.minutes(1)))
struct TrapTests {
    @Test("TR1 C6 an id is permanent from the insert on, and is never given away again", arguments: Place.allCases)
    func permanentIDs(_ place: Place) async throws {
        try await withStack(place) { stack in
            let id = try await stack.background { context in
                let author = context.insert(Author(name: "a"))
                let id = author.id
                #expect(id.isAssigned)
                try context.save()
                #expect(author.id == id)
                return id
            }
            try await stack.save()
            #expect(try await stack.on(.root) { try $0.find(id)?.id } == id)
            let next = try await stack.background { context in
                context.delete(try #require(try context.find(id)))
                try context.commit()
                return context.insert(Author(name: "b")).id
            }
            #expect(next != id)
        }
    }

    @Test("TR1 H28 a store that is opened again hands out new ids, also where the last ones were never saved")
    func idsAcrossOpenings() async throws {
        let folder = try StoreFolder()
        var seen: Set<ObjectID<Author>> = []
        for _ in 0..<3 {
            let stack = try await ContextStack.open(folder.location, models: allModels)
            let ids = try await stack.background { context in
                let saved = context.insert(Author(name: "saved"))
                try context.commit()
                return [saved.id, context.insert(Author(name: "lost")).id]
            }
            #expect(seen.isDisjoint(with: ids))
            seen.formUnion(ids)
            try await stack.close()
        }
    }

    @Test("TR2 saved is not on disk, committed is: a second reader of the file tells them apart")
    func savedAndCommitted() async throws {
        let folder = try StoreFolder()
        let stack = try await ContextStack.open(folder.location, models: allModels)
        let other = try await ContextStack.open(folder.location, models: allModels)
        try stack.create(.private, named: .network)
        try await stack.on(.network) { context in
            context.insert(Author(name: "a"))
            try context.save()
        }
        #expect(try await other.background { try $0.count(Author.all) } == 0)
        try await stack.commit(.network)
        #expect(try await other.background { try $0.count(Author.all) } == 1)
        #expect(try await stack.on(.main) { !$0.hasChanges })
        try await stack.close()
        try await other.close()
    }

    @Test(
        "TR3 C16 a child's save and commit stay apart from the parent's half-finished edits",
        arguments: Place.allCases
    )
    func apart(_ place: Place) async throws {
        try await withStack(place) { stack in
            // Not valid yet: it could not be saved.
            let draft = try await stack.on(.main) { $0.insert(Writer(name: "")).id }
            let id = try await stack.background { context in
                let writer = context.insert(Writer(name: "w"))
                try context.save()
                try context.commit()
                return writer.id
            }
            #expect(try await stack.on(.root) { try $0.ids(Writer.all) } == [id])
            try await stack.on(.main) { context in
                #expect(context.hasChanges)
                #expect(throws: StrataError.self) { try context.save() }
                try #require(try context.find(draft)).name = "ready"
                try context.save()
            }
        }
    }

    @Test("TR4 C17 H18 a child does not overwrite what the parent changed meanwhile: the error has the three values")
    func overwriting() async throws {
        try await withStack(.memory) { stack in
            let id = try await stack.background { context in
                let author = context.insert(Author(name: "base"))
                try context.commit()
                return author.id
            }
            try stack.create(.private, named: .network)
            try await stack.on(.network) { try #require(try $0.find(id)).name = "mine" }
            try await stack.on(.main) { try #require(try $0.find(id)).name = "theirs" }
            try await stack.on(.network) { context in
                let error = #expect(throws: StrataError.self) { try context.save() }
                #expect(error?.code == .conflict)
                let detail = try #require(error?.details.first)
                #expect(detail.model == "Author" && detail.number == id.number && detail.column == "name")
                #expect(
                    detail.base == .text("base") && detail.mine == .text("mine") && detail.theirs == .text("theirs")
                )
                #expect(try context.find(id)?.name == "mine")
            }
        }
    }

    @Test("TR4 C17 the policies of a conflict", arguments: [(MergePolicy.mine, "mine"), (.theirs, "theirs")])
    func policies(_ policy: MergePolicy, _ kept: String) async throws {
        try await withStack(.memory) { stack in
            let id = try await stack.background { context in
                let author = context.insert(Author(name: "base", fee: 1))
                try context.commit()
                return author.id
            }
            try stack.create(.private, named: .network)
            try await stack.on(.network) { context in
                let author = try #require(try context.find(id))
                (author.name, author.fee) = ("mine", 2)
            }
            try await stack.on(.main) { try #require(try $0.find(id)).name = "theirs" }
            try await stack.on(.network) { context in
                context.mergePolicy = policy
                try context.save()
                #expect(try context.find(id)?.name == kept)
            }
            // The column that nobody else touched comes along either way.
            let row = try await stack.on(.main) { try $0.find(id)?.snapshot }
            #expect(row?.name == kept && row?.fee == 2)
        }
    }

    @Test("TR5 C14 a context over the committed state sees nothing unfinished, and saves to its parent like any other")
    func committedOnly() async throws {
        try await withStack(.memory) { stack in
            try await stack.on(.main) { _ = $0.insert(Author(name: "unfinished")) }
            let handle = try stack.create(.private, reads: .committed)
            try await handle.perform { context in
                #expect(try context.count(Author.all) == 0)
                context.insert(Author(name: "own"))
                #expect(try context.fetch(Author.all).map(\.name) == ["own"])
                try context.save()
            }
            #expect(try await stack.on(.main) { try $0.fetch(Author.named).map(\.name) } == ["own", "unfinished"])
        }
    }

    @Test(
        "TR7 C19 siblings and long-lived contexts show what others committed at their next block",
        arguments: Place.allCases
    )
    func siblings(_ place: Place) async throws {
        enum Kept: ContextStateKey { typealias Value = Author }
        try await withStack(place) { stack in
            try stack.create(.private, named: .network)
            try stack.create(.private, named: .other)
            let id = try await stack.on(.network) { context in
                let author = context.insert(Author(name: "a"))
                try context.commit()
                context.state[Kept.self] = author
                return author.id
            }
            for name in ["b", "c"] {
                try await stack.on(.other) { context in
                    try #require(try context.find(id)).name = name
                    try context.commit()
                }
                #expect(try await stack.on(.network) { $0.state[Kept.self]?.name } == name)
                #expect(try await stack.on(.network) { try $0.first(Author.all)?.name } == name)
            }
            try await stack.on(.other) { context in
                context.delete(try #require(try context.find(id)))
                try context.commit()
            }
            #expect(try await stack.on(.network) { $0.state[Kept.self]?.isDeleted } == true)
            #expect(try await stack.on(.network) { $0.state[Kept.self]?.name } == "c")
        }
    }

    @Test("TR22 C3 the current context travels with the task")
    func current() async throws {
        try await withStack(.memory) { stack in
            let network = try stack.create(.private, named: .network)
            try await stack.on(.network) { _ in
                try await Self.work(in: stack, network)
                async let child: Void = Self.work(in: stack, network)
                try await child
            }
            #expect(try stack.current?.name == .main)
        }
    }

    private static func work(in stack: ContextStack, _ expected: ContextHandle) async throws {
        #expect(try stack.current == expected)
    }
}
