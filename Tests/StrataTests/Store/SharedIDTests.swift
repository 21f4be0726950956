import TestHomeTraits
import Testing

@testable import Strata

/// Rows of two models may have the same id: a queued operation and the record of the finished operation, or rows of a
/// damaged file.
@Suite struct SharedIDTests {
    @Test("Rows of two models with the same id are two objects", .aboutTheFile("changes rows of the file from outside"))
    func sharedID() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("shared.sqlite")
        let first = try await ContextStack.open(.sqlite(url), models: allModels, stack: .rootOnly)
        let number = try await first.background { context in
            let publisher = context.insert(Publisher(name: "Ace"))
            context.insert(Seal(color: "red"))
            try context.commit()
            return publisher.id.rawValue
        }
        try await first.close()
        _ = try plainRows(url, "UPDATE Seal SET id = \(number)")

        let stack = try await ContextStack.open(.sqlite(url), models: allModels, stack: .rootOnly)
        try await stack.background { context in
            let publishers = try context.fetch(Publisher.all)
            #expect(publishers.map(\.name) == ["Ace"])
            let seals = try context.fetch(Seal.all)
            #expect(seals.map(\.color) == ["red"])
            #expect(seals.first?.id.rawValue == number && publishers.first?.id.rawValue == number)
            seals.first?.color = "blue"
            publishers.first?.name = "Tor"
            try context.commit()
            context.delete(try #require(publishers.first))
            try context.commit()
            #expect(seals.first?.isDeleted == false)
            #expect(try context.fetch(Seal.all).first === seals.first)
            #expect(try context.fetch(Publisher.all).isEmpty)
        }
        try await stack.close()
    }
}
