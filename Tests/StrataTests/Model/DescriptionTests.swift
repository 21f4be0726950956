import Foundation
import Testing

@testable import Strata

@Suite("Descriptions of objects") struct DescriptionTests {
    @Model final class Exhibit {
        var title: String
        var isLent: Bool = false
        var weight: Double?
        var made: Date?
        @Attribute(.externalStorage) var photo: Data?
        @Derived var key: String { title.lowercased() }
        var room: Hall?
    }

    @Model final class Hall {
        @Relationship(inverse: \Exhibit.room) var exhibits: Many<Exhibit>
    }

    /// Has an attribute whose name is that of a description in Swift.
    @Model final class Card {
        var description: String?
    }

    @Test("An object is described by its row, without a query of the store")
    func objects() async throws {
        let models: [any Model.Type] = [Exhibit.self, Hall.self, Card.self]
        let stack = try await ContextStack.open(.inMemory, models: models, stack: .rootOnly)
        try await stack.background { context in
            let exhibit = Exhibit(title: "Vase")
            #expect(
                "\(exhibit)"
                    == #"Exhibit (title: "Vase", isLent: false, weight: nil, made: nil, photo: nil, room: nil)"#
            )
            exhibit.weight = 1.5
            exhibit.made = Date(timeIntervalSinceReferenceDate: 0)
            exhibit.photo = Data([1, 2, 3])
            exhibit.title = String(repeating: "x", count: 70)
            let hall = context.insert(Hall())
            exhibit.room = hall
            try context.commit()
            let text = "\(exhibit)"
            #expect(
                text.hasPrefix("Exhibit \(exhibit.id.rawValue) (title: \"\(String(repeating: "x", count: 60))…\", ")
            )
            #expect(text.contains("weight: 1.5, made: 2001-01-01 00:00:00 +0000, photo: 3 bytes"), "\(text)")
            #expect(text.hasSuffix("room: Hall \(hall.id.rawValue))") && "\(hall)" == "Hall \(hall.id.rawValue)")
            #expect("\(Card(description: "x"))" == #"Card (description: "x")"#)
        }
        try await stack.background { context in
            let exhibit = try #require(try context.first(Exhibit.all))
            #expect("\(exhibit)".contains("photo: bytes not read"))
            #expect(!"\(exhibit.snapshot)".contains("Place"))
        }
        try await stack.close()
    }
}
