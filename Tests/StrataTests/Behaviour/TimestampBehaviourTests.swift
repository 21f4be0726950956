import Foundation
import Strata
import Testing

@Suite("Behaviour tables: timestamps and threads", .timeLimit(.minutes(1)))
struct TimestampBehaviourTests {
    @Test(
        "Both timestamps are nil before the first save, and have the time of the save afterwards",
        arguments: StoreKind.allCases
    )
    func first(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            try await stack.background { context in
                let object = context.insert(Timestamp())
                #expect(object.createdAt == nil && object.updatedAt == nil)
                let before = Date()
                try context.save()
                let (created, updated) = (try #require(object.createdAt), try #require(object.updatedAt))
                #expect(created == updated && before <= created && created <= Date())
            }
        }
    }

    @Test("An update keeps createdAt and advances updatedAt", arguments: StoreKind.allCases)
    func update(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            try await stack.background { context in
                let object = context.insert(Timestamp())
                try context.commit()
                let (created, updated) = (try #require(object.createdAt), try #require(object.updatedAt))
                // The difference shows only after the clock has moved on.
                while Date() <= updated {}
                object.label = "b"
                #expect(object.updatedAt == updated)
                try context.commit()
                #expect(object.createdAt == created)
                #expect(try #require(object.updatedAt) > updated)
            }
        }
    }

    @Test(
        "One save sets the same time everywhere, whatever the context published before it",
        arguments: StoreKind.allCases
    )
    func oneTime(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            try await stack.background { context in
                let first = context.insert(Timestamp(label: "a"))
                #expect(try context.count(Timestamp.all) == 1)
                let second = context.insert(Timestamp(label: "b"))
                try context.commit()
                #expect(first.createdAt != nil)
                #expect(Set([first, second].flatMap { [$0.createdAt, $0.updatedAt] }).count == 1)
                first.label = "c"
                let third = context.insert(Timestamp(label: "d"))
                try context.commit()
                #expect(third.createdAt != nil)
                #expect(third.createdAt == third.updatedAt && first.updatedAt == third.updatedAt)
                #expect(first.createdAt == second.createdAt && second.updatedAt == second.createdAt)
            }
        }
    }

    @Test(
        "A value that is set back does not change the timestamp, even if the commit also inserts an object",
        arguments: StoreKind.allCases
    )
    func setBack(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            try await stack.background { context in
                let first = context.insert(Timestamp(label: "a"))
                try context.commit()
                let updated = first.updatedAt
                first.label = "b"
                first.label = "a"
                context.insert(Timestamp())
                try context.commit()
                #expect(updated != nil && first.updatedAt == updated)
            }
        }
    }

    @Test("A refused commit keeps createdAt from the first attempt, and the next commit sets a newer updatedAt")
    func refused() async throws {
        try await withStack(.memory) { stack in
            try await stack.background { context in
                let object = context.insert(Timestamp())
                let writer = context.insert(Writer(name: ""))
                #expect(throws: StrataError.self) { try context.commit() }
                let created = try #require(object.createdAt)
                while Date() <= created {}
                writer.name = "a"
                try context.commit()
                #expect(object.createdAt == created)
                #expect(try #require(object.updatedAt) > created)
            }
        }
    }

    @Test("Timestamps are set in the context that holds the change, also a named one, and are saved with it")
    func named() async throws {
        try await withStack(.memory) { stack in
            try stack.create(.private, named: .network)
            let id = try await stack.on(.network) { $0.insert(Timestamp(label: "a")).id }
            try await stack.save(.network)
            let created = try await stack.on(.main) { try $0.find(id)?.createdAt }
            #expect(created != nil)
            #expect(try await stack.on(.network) { try $0.find(id)?.createdAt } == created)
            try await stack.save(.main)
            try await stack.save(.root)
            // The parents only pass the object on, and have not changed it themselves.
            for name in [ContextName.network, .main, .root] {
                #expect(try await stack.on(name) { try $0.find(id)?.updatedAt } == created)
            }
        }
    }

    @Test("A child that is pushed with a block on a worker saves its changes to the pushed parent")
    func threads() async throws {
        try await withStack(.memory, .empty) { stack in
            try await Task.detached {
                let parent = try stack.push(.root)
                try await stack.push(.private) { context in
                    context.insert(Author(name: "a"))
                    try context.save()
                }
                #expect(try await parent.perform { try $0.count(Author.all) } == 1)
            }.value
        }
    }
}
