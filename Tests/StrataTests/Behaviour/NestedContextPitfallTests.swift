import Foundation
import Testing

@testable import Strata

@Suite("Pitfalls of nested contexts: ids, saves and conflicts", .timeLimit(.minutes(1)))
struct NestedContextPitfallTests {
    @Test("An id is permanent from the insert on, and is never used again", arguments: StoreKind.allCases)
    func permanentIDs(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
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

    @Test("A store that is opened again gives new ids, even if objects with the last ids were never saved")
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

    @Test("Saved objects are not on the disk, and committed objects are, as a second reader of the file shows")
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
        "A child's save and commit leave the parent's unfinished edits alone",
        arguments: StoreKind.allCases
    )
    func apart(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            // This object is not valid yet, so it cannot be saved.
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

    @Test("A child does not overwrite its parent's newer value, and the error has the three values")
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
                #expect(detail.model == "Author" && detail.id == id.rawValue && detail.column == "name")
                #expect(
                    detail.base == .text("base") && detail.mine == .text("mine") && detail.theirs == .text("theirs")
                )
                #expect(try context.find(id)?.name == "mine")
            }
        }
    }

    @Test(
        "The policies .mine and .theirs decide a conflict",
        arguments: [(MergePolicy.mine, "mine"), (.theirs, "theirs")]
    )
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
            // A column that no other context changed is saved under either policy.
            let row = try await stack.on(.main) { try $0.find(id)?.snapshot }
            #expect(row?.name == kept && row?.fee == 2)
        }
    }

    @Test("A context over the committed state sees no unsaved changes, and saves to its parent like any other")
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
        "Siblings and long-lived contexts show others' commits at their next block",
        arguments: StoreKind.allCases
    )
    func siblings(_ kind: StoreKind) async throws {
        enum Kept: ContextStateKey { typealias Value = Author }
        try await withStack(kind) { stack in
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

    @Test("The current context travels with the task")
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
