import StoreModels
import Strata
import Testing

/// Delete rules and rows that other contexts save between the delete and its save.
@Suite("Deletes of objects that others refer to meanwhile") struct ConcurrentDeleteTests {
    @Test("Delete rules apply to rows that other contexts save to the parent after the deleting block has read")
    func savedMeanwhile() async throws {
        let fixture = try await SavingFixture()
        let stack = fixture.stack
        let owner = try await stack.on(.root) { context in
            let owner = context.insert(Owner(name: "o"))
            try context.commit()
            return owner.id
        }
        let network = try stack[.network]
        try await network.perform { context in
            // This read fixes the state that the block sees.
            let mine = try #require(try context.find(owner))
            try await stack.on(.other) { other in
                let theirs = try #require(try other.find(owner))
                other.insert(Nullified(name: "n", owner: theirs))
                other.insert(Cascaded(name: "c", owner: theirs))
                try other.save()
            }
            context.delete(mine)
            try context.save()
        }
        try await stack.on(.main) { context in
            let left = try context.fetch(Nullified.all).map { $0.owner?.name }
            #expect(left == [nil])
            #expect(try context.count(Cascaded.all) == 0)
        }
        try await stack.commit(.main)
        // A deny rule applies to such rows as well.
        let denied = try await stack.on(.root) { context in
            let owner = context.insert(Owner(name: "denied"))
            try context.commit()
            return owner.id
        }
        try await network.perform { context in
            let mine = try #require(try context.find(denied))
            try await stack.on(.other) { other in
                other.insert(Denying(name: "d", owner: try other.find(denied)))
                try other.save()
            }
            context.delete(mine)
            let error = #expect(throws: StrataError.self) { try context.save() }
            #expect(error?.code == .deleteDenied)
        }
        try await stack.commit(.main)
        try await fixture.close()
    }

    private enum KeptAuthor: ContextStateKey { typealias Value = Author }

    enum Kind: CaseIterable { case plain, observable, pinned, overRoot }

    @Test(
        "After its commit, a deleted object stays deleted in its context, also if others changed it before",
        arguments: Kind.allCases,
        [false, true]
    )
    func changedMeanwhile(_ kind: Kind, isSetBack: Bool) async throws {
        let stack = try await openStack(kind == .overRoot ? .rootOnly : .empty)
        try stack.create(
            .private,
            named: .network,
            merging: kind == .pinned ? .pinned : .atNextBlock,
            observable: kind == .observable
        )
        try await stack.on(.network) { context in
            context.state[KeptAuthor.self] = context.insert(Author(name: "a"))
            try context.commit()
        }
        try await stack.on(.network) { context in
            context.mergePolicy = .mine
            let author = try #require(context.state[KeptAuthor.self])
            context.delete(author)
            // The context has not read yet, and learns of this commit together with its own one.
            try stack.meanwhile { other in try #require(try other.first(Author.all)).fee = 5 }
            if isSetBack { try stack.meanwhile { other in try #require(try other.first(Author.all)).fee = 0 } }
            try context.commit()
            #expect(author.isDeleted)
            let found = try context.find(author.id)
            #expect(found == nil)
        }
        #expect(try await stack.background { try $0.count(Author.all) } == 0)
        try await stack.close()
    }
}
