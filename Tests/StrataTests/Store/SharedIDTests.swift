import Testing

@testable import Strata

/// Found by changing bytes of a file at random: in a damaged file rows of two tables may have one id.
@Suite struct SharedIDTests {
    @Test("H28 rows of two models with one id are reported as damage, and no object is taken for another")
    func sharedID() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("shared.sqlite")
        let first = try await ContextStack.open(.sqlite(url), models: allModels, stack: .rootOnly)
        let number = try await first.background { context in
            let publisher = context.insert(Publisher(name: "Ace"))
            context.insert(Seal(color: "red"))
            try context.commit()
            return publisher.id.number
        }
        try await first.close()
        _ = try plainRows(url, "UPDATE Seal SET id = \(number)")

        let stack = try await ContextStack.open(.sqlite(url), models: allModels, stack: .rootOnly)
        try await stack.background { context in
            let publishers = try context.fetch(Publisher.all)
            #expect(publishers.map(\.name) == ["Ace"])
            let error = #expect(throws: StrataError.self) { try context.fetch(Seal.all) }
            #expect(error?.code == .damagedStore)
            #expect(publishers.first?.name == "Ace")
        }
        try await stack.close()
    }
}
