import Testing

@testable import Strata

/// A type that does not know about stores.
struct Color: Sendable, Equatable {
    var red, green, blue: Int
}

struct ColorError: Error, CustomStringConvertible {
    let description: String
}

enum HexColor: ValueTransformer {
    static func store(_ color: Color) throws -> String {
        let parts = [color.red, color.green, color.blue]
        guard parts.allSatisfy((0...255).contains) else { throw ColorError(description: "\(parts) is no color") }
        return "#" + parts.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    static func load(_ text: String) throws -> Color {
        guard text.hasPrefix("#"), text.utf8.count == 7, let number = Int(text.dropFirst(), radix: 16) else {
            throw ColorError(description: "'\(text)' is not like #a0b0c0")
        }
        // Represents a value that older versions wrote.
        guard number != 0xbad000 else { throw ColorError(description: "bad is not read any more") }
        return Color(red: number >> 16, green: number >> 8 & 255, blue: number & 255)
    }
}

/// Text that must not be readable in the file.
enum Reversed: ValueTransformer {
    static func store(_ text: String) -> String { String(text.reversed()) }
    static func load(_ text: String) -> String { String(text.reversed()) }
}

/// Numbers that SQLite cannot compare without help.
enum Cents: ValueTransformer {
    static func store(_ cents: Int) -> UInt64 { UInt64(cents) }
    static func load(_ cents: UInt64) throws -> Int { Int(cents) }
}

@Model(.unique("color", "name")) final class Paint {
    var name: String
    @Attribute(.indexed, .transformed(by: HexColor.self)) var color: Color = Color(red: 0, green: 0, blue: 0)
    @Attribute(.transformed(by: HexColor.self)) var edge: Color?
    @Attribute(.transformed(by: Reversed.self), .length(0...5)) var secret: String = ""
    @Attribute(.transformed(by: Cents.self)) var price: Int = 0
    @Relationship(inverse: \Wall.paint) var walls: Many<Wall>
}

@Model final class Wall {
    var paint: Paint?
}

@Suite("Value transformers", .timeLimit(.minutes(1)))
struct TransformedTests {
    private let red = Color(red: 255, green: 0, blue: 0)
    private let blue = Color(red: 0, green: 0, blue: 255)

    private func open(_ setUp: StackSetUp = .rootOnly, mergePolicy: MergePolicy = .error) async throws -> ContextStack {
        try await ContextStack.open(
            .inMemory,
            models: [Paint.self, Wall.self],
            stack: setUp,
            mergePolicy: mergePolicy
        )
    }

    @Test(
        "Values are stored by their transformer, and read, set and found as values of the property's type",
        arguments: [false, true]
    )
    func values(isCommitted: Bool) async throws {
        let stack = try await open()
        try await stack.on(.root) { context in
            let paint = context.insert(Paint(name: "a", color: red, secret: "abc", price: 300))
            context.insert(Paint(name: "b", color: blue, edge: red, price: 1000))
            context.insert(Wall(paint: paint))
            if isCommitted { try context.commit() }
        }
        try await stack.background { context in
            func names(_ query: Query<Paint>) throws -> [String] { try context.fetch(query).map(\.name) }
            let found = try #require(try context.first(Paint.where { $0.color == red }))
            #expect(found.name == "a" && found.color == red && found.edge == nil && found.secret == "abc")
            #expect(found.snapshot.color == red && found.snapshot.price == 300)
            #expect(try names(Paint.where { $0.color != red }) == ["b"])
            #expect(try names(Paint.where { $0.edge == red }) == ["b"])
            #expect(try names(Paint.where { $0.edge == nil }) == ["a"])
            #expect(try names(Paint.where { $0.edge != nil }) == ["b"])
            #expect(try names(Paint.where { $0.color.in([red, blue]) }) == ["a", "b"])
            #expect(try names(Paint.where { $0.color.stored.hasPrefix("#00") }) == ["b"])
            #expect(try names(Paint.sorted { $0.color.stored }) == ["b", "a"])
            #expect(try names(Paint.where { $0.price.stored > 999 }) == ["b"])
            #expect(try context.column(Paint.all, \.secret.stored) == ["cba", ""])
            #expect(try context.count(Wall.where { $0.paint.color == red }) == 1)
            #expect(try context.count(Wall.where { $0.paint.color == blue }) == 0)
        }
    }

    @Test("Setting an equal value is not a change; another value is, and a rollback restores the old one")
    func changes() async throws {
        let stack = try await open()
        try await stack.background { context in
            let paint = context.insert(Paint(name: "a", color: red))
            try context.commit()
            paint.color = red
            paint.edge = nil
            #expect(!paint.hasChanges)
            paint.color.blue = 16
            paint.edge = blue
            #expect(paint.changedValues.mapValues(\.new) == ["color": .text("#ff0010"), "edge": .text("#0000ff")])
            context.rollback()
            #expect(paint.color == red && paint.edge == nil)
            paint.edge = blue
            try context.commit()
        }
        #expect(try await stack.background { try $0.first(Paint.all)?.edge } == blue)
    }

    @Test("The save reports a value that cannot be stored, and nothing is lost")
    func unstorable() async throws {
        let stack = try await open()
        try await stack.background { context in
            let paint = context.insert(Paint(name: "a", color: Color(red: -1, green: 0, blue: 0), secret: "too long"))
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .validation)
            #expect(error?.details.map(\.column) == ["secret"])
            paint.secret = ""
            let second = #expect(throws: StrataError.self) { try context.commit() }
            #expect(second?.code == .validation)
            #expect(second?.details.map(\.description) == ["Paint 1.color cannot be encoded: [-1, 0, 0] is no color"])
            paint.color = red
            try context.commit()
        }
    }

    @Test("A value that its transformer rejects causes an error with the reason, and stays in the store")
    func unreadable() async throws {
        let stack = try await open()
        try await stack.background { context in
            context.insert(Paint(name: "a", color: red))
            context.insert(Paint(name: "b", color: Color(red: 0xba, green: 0xd0, blue: 0)))
            try context.commit()
        }
        try await stack.background { context in
            let error = #expect(throws: StrataError.self) { try context.fetch(Paint.self) }
            #expect(error?.code == .undecodable)
            #expect(error?.details.map(\.description) == ["Paint 2.color cannot be '#bad000'"])
            let reason = "\(error?.underlying ?? ColorError(description: ""))"
            #expect(reason.contains("bad is not read any more"))
            let others = try context.fetch(Paint.where { $0.color == red }).map(\.name)
            let texts = try context.column(Paint.all, \.color.stored)
            #expect(others == ["a"] && texts == ["#ff0000", "#bad000"])
        }
    }

    @Test("Two writers of one value conflict, unless they have set the same value")
    func conflicts() async throws {
        let stack = try await open()
        let id = try await stack.background { context in
            let paint = context.insert(Paint(name: "a"))
            try context.commit()
            return paint.id
        }
        let (one, two) = (try stack.create(.private), try stack.create(.private))
        for (handle, color) in [(one, red), (two, blue)] {
            try await handle.perform { try $0.find(id)?.color = color }
        }
        try await one.commit()
        let error = await #expect(throws: StrataError.self) { try await two.commit() }
        #expect(error?.details.map(\.column) == ["color"])
        #expect(error?.details.first?.theirs == .text("#ff0000"))
        try await two.perform { try $0.find(id)?.color = self.red }
        try await two.commit()
    }
}
