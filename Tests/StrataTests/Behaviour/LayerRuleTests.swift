import Testing

@testable import Strata

@Suite("Rules of the layers", .timeLimit(.minutes(1)))
struct LayerRuleTests {
    @Test("A value that a context saved upward and then overwrote is never written later")
    func overwrittenFurtherDown() async throws {
        try await withStack(.memory) { stack in
            try stack.create(.private, named: .network)
            let id = try await stack.on(.network) { context in
                let author = context.insert(Author(name: "0"))
                try context.commit()
                author.name = "1"
                try context.save()
                author.name = "2"
                try context.commit()
                return author.id
            }
            for name in [ContextName.main, .root] {
                #expect(try await stack.on(name) { try $0.find(id)?.name } == "2")
                #expect(try await stack.on(name) { !$0.hasChanges })
            }
            try await stack.save()
            #expect(try await stack.on(.root) { try $0.find(id)?.name } == "2")
        }
    }

    @Test("A parent's edit of a column that its child has saved stays on top of the child's commit")
    func parentsEditOnTop() async throws {
        try await withStack(.memory) { stack in
            try stack.create(.private, named: .network)
            let id = try await stack.on(.network) { context in
                let author = context.insert(Author(name: "0"))
                try context.commit()
                author.name = "child's"
                try context.save()
                return author.id
            }
            try await stack.on(.main) { try #require(try $0.find(id)).name = "main's" }
            try await stack.commit(.network)
            #expect(try await stack.on(.root) { try $0.find(id)?.name } == "child's")
            #expect(try await stack.on(.main) { try $0.find(id)?.name } == "main's")
            #expect(try await stack.on(.main) { $0.hasChanges })
        }
    }

    @Test("A parent's unsaved reference does not block a child's commit of a delete, but fails at the parent's commit")
    func unsavedReference() async throws {
        try await withStack(.memory) { stack in
            let id = try await stack.background { context in
                let publisher = context.insert(Publisher(name: "p"))
                try context.commit()
                return publisher.id
            }
            let contract = try await stack.on(.main) { context in
                context.insert(Contract(title: "c", publisher: try context.find(id))).id
            }
            try await stack.background { context in
                context.delete(try #require(try context.find(id)))
                try context.commit()
            }
            #expect(try await stack.on(.root) { try $0.count(Publisher.all) } == 0)
            let error = await #expect(throws: StrataError.self) { try await stack.commit(.main) }
            #expect(error?.code == .missingReference && error?.details.map(\.id) == [contract.rawValue])
            try await stack.on(.main) { try #require(try $0.find(contract)).publisher = nil }
            try await stack.commit(.main)
            #expect(try await stack.on(.root) { try $0.count(Contract.all) } == 1)
        }
    }

    @Test("A one-to-one relationship has one object at each end, set from either side", arguments: StoreKind.allCases)
    func oneToOne(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            try await stack.background { context in
                let contracts = ["1", "2"].map { context.insert(Contract(title: $0)) }
                let seals = ["red", "blue"].map { context.insert(Seal(color: $0)) }
                seals[0].contract = contracts[0]
                #expect(contracts[0].seal === seals[0])
                contracts[1].seal = seals[0]
                #expect(seals[0].contract === contracts[1] && contracts[0].seal == nil)
                try context.commit()
                seals[1].contract = contracts[1]
                #expect(contracts[1].seal === seals[1] && seals[0].contract == nil)
                try context.commit()
                #expect(try context.count(Seal.where { $0.contract == nil }) == 1)
                #expect(try context.first(Contract.where { $0.seal.color == "blue" }) === contracts[1])
            }
        }
    }

    @Test("Members that two contexts add to one relationship are all in it, and a member that both add is in it once")
    func members() async throws {
        try await withStack(.memory) { stack in
            let (writer, spouse) = try await stack.background { context in
                let ids = (context.insert(Writer(name: "w")).id, context.insert(Spouse(name: "both")).id)
                try context.commit()
                return ids
            }
            for name in [ContextName.network, .other] {
                try stack.create(.private, named: name)
                try await stack.on(name) { context in
                    let members = try #require(try context.find(writer)).spouses
                    members.insert(try #require(try context.find(spouse)))
                    members.insert(Spouse(name: name.rawValue))
                }
            }
            try await stack.commit(.network)
            try await stack.commit(.other)
            let names = try await stack.on(.root) { try $0.find(writer)?.spouses.fetch().map(\.name).sorted() }
            #expect(names == ["both", "network", "other"])
        }
    }
}
