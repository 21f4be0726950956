import Foundation
import Testing

@testable import Strata

private struct Measure: Codable, Equatable, AttributeValue {
    var value: Double
}

@Model private final class Sample {
    @Attribute(.unique) var name: String
    var price: Decimal?
    var measure: Measure?
    @Attribute(.updatedAt) var at: Date?
    var note: String = ""
    var parent: Sample?
}

@Suite("Changes that a save refuses")
struct RefusedSaveTests {
    private func open() async throws -> ContextStack {
        try await ContextStack.open(.inMemory, models: [Sample.self])
    }

    @Test("A failed commit names the object and attribute of a value that is not a number or cannot be stored")
    func noNumbers() async throws {
        let stack = try await open()
        try await stack.background { context in
            let price = context.insert(Sample(name: "price", price: .nan))
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .validation)
            #expect(error?.details.map(\.column) == ["price"])
            price.price = 1
            let measure = context.insert(Sample(name: "measure", measure: Measure(value: .infinity)))
            let other = #expect(throws: StrataError.self) { try context.commit() }
            #expect(other?.code == .validation)
            #expect(other?.details.map(\.column) == ["measure"])
            #expect(other?.details.map(\.id) == [measure.id.rawValue])
            measure.measure?.value = 2
            try context.commit()
            measure.measure?.value = .nan
            let third = #expect(throws: StrataError.self) { try context.commit() }
            #expect(third?.details.map(\.column) == ["measure"])
        }
    }

    @Test("A failed commit names all unique values that exist already")
    func allDuplicates() async throws {
        let stack = try await open()
        try await stack.background { context in
            for name in ["a", "b", "c"] { context.insert(Sample(name: name)) }
            try context.commit()
        }
        try await stack.background(parent: .named(.root)) { context in
            for name in ["a", "d", "b", "e", "d"] { context.insert(Sample(name: name)) }
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .notUnique)
            #expect(error?.details.map(\.mine) == [.text("a"), .text("b"), .text("d")])
        }
    }

    @Test("Automatic timestamps of two writers do not conflict", arguments: [true, false])
    func timestamps(isParent: Bool) async throws {
        let stack = try await open()
        let id = try await stack.background { context in
            let sample = context.insert(Sample(name: "a"))
            try context.commit()
            return sample.id
        }
        try await stack.background(parent: .named(isParent ? .main : .root)) { context in
            try #require(try context.find(id)).note = "mine"
            if isParent {
                try await stack.on(.main) { try #require(try $0.find(id)).name = "theirs" }
                try await stack.on(.main) { try $0.save() }
            } else {
                try await stack.background(parent: .named(.root)) { other in
                    try #require(try other.find(id)).name = "theirs"
                    try other.commit()
                }
            }
            try context.commit()
        }
        try await stack.commit()
        try await stack.background { context in
            let sample = try #require(try context.find(id))
            let values = (sample.name, sample.note)
            #expect(values == ("theirs", "mine"))
        }
    }

    @Test("An edit that .theirs drops does not change the object's timestamp")
    func givenUp() async throws {
        let stack = try await open()
        let id = try await stack.background { context in
            let sample = context.insert(Sample(name: "a"))
            try context.commit()
            return sample.id
        }
        try await stack.background(parent: .named(.root)) { context in
            context.mergePolicy = .theirs
            let sample = try #require(try context.find(id))
            sample.note = "mine"
            let theirs = try await stack.background(parent: .named(.root)) { other in
                let sample = try #require(try other.find(id))
                sample.note = "theirs"
                try other.commit()
                return sample.at
            }
            try await Task.sleep(for: .milliseconds(2))
            try context.commit()
            let values = (sample.note, sample.at)
            #expect(values == ("theirs", theirs))
        }
    }

    /// Keeps an object that the compiler would not let out of a block.
    private final class Kept: @unchecked Sendable { var sample: Sample? }

    @Test(
        "A to-one relationship refuses an object of another context, in use or ended",
        arguments: [false, true]
    )
    func otherContext(isEnded: Bool) async throws {
        let stack = try await open()
        let kept = Kept()
        let other = try stack.create(.private, named: "other")
        let keep = { @Sendable (context: SavingContext) in
            kept.sample = context.insert(Sample(name: "kept"))
            try context.commit()
        }
        if isEnded {
            try await stack.background { try keep($0) }
        } else {
            try await other.perform { try keep($0) }
        }
        try await stack.background { context in
            let foreign = try #require(kept.sample)
            let friend = context.insert(Sample(name: "friend"))
            let sample = context.insert(Sample(name: "sample", parent: friend))
            try context.commit()
            sample.parent = foreign
            #expect(sample.parent === friend)
            let error = #expect(throws: StrataError.self) { try context.save() }
            #expect(error?.code == .invalidState && error?.details.map(\.id) == [foreign.id.rawValue])
            context.rollback()
            if isEnded {
                let made = context.insert(Sample(name: "made", parent: foreign))
                #expect(made.parent == nil)
                let error = #expect(throws: StrataError.self) { try context.save() }
                #expect(error?.code == .invalidState && error?.details.map(\.id) == [foreign.id.rawValue])
                context.rollback()
            }
            sample.parent = try context.find(foreign.id)
            try context.commit()
            #expect(sample.parent?.name == "kept")
        }
        kept.sample = nil
        try await stack.close()
    }

    @Test("A to-one relationship and a delete refuse an object of another store")
    @MainActor func otherStore() async throws {
        let one = try await open()
        let two = try await open()
        let stranger = try one.main.insert(Sample(name: "stranger"))
        try await one.commit(.main)
        let main = try two.main
        let friend = main.insert(Sample(name: "friend"))
        let sample = main.insert(Sample(name: "sample", parent: friend))
        try await two.commit(.main)
        sample.parent = stranger
        #expect(sample.parent === friend)
        #expect(throws: StrataError.self) { try main.save() }
        main.rollback()
        main.delete(stranger)
        let error = #expect(throws: StrataError.self) { try main.save() }
        #expect(error?.code == .invalidState)
        #expect(error?.details.map(\.model) == ["Sample"])
        main.rollback()
        try await two.commit(.main)
        #expect(try main.count(Sample.self) == 2)
    }
}
