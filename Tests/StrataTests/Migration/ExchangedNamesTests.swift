import TestHomeTraits
import Testing

@testable import Strata

@Suite("Names that a migration exchanges", .aboutTheFile("migrates stores")) struct ExchangedNamesTests {
    enum First {
        @Model final class alpha {
            var one: Int
            var two: Int
            var Three: Int
        }
        @Model final class Beta { var text: String }
    }

    enum Next {
        @Model final class Alpha {
            @Attribute(originalName: "one") var uno: Int
            @Attribute(originalName: "two") var due: Int
            var three: Int
        }
        @Model(table: "Gamma") final class Beta { var text: String }
    }

    enum Swapped {
        @Model(table: "Gamma") final class Alpha {
            @Attribute(originalName: "uno") var due2: Int
            @Attribute(originalName: "due") var uno: Int
            var three: Int
        }
        @Model(table: "Alpha") final class Beta { var text: String }
    }

    enum Chained {
        @Model(table: "Gamma") final class Alpha {
            @Attribute(originalName: "uno") var one: Int
            @Attribute(originalName: "due") var two: Int
            var three: Int
        }
        @Model(table: "Alpha") final class Beta { var text: String }
    }

    enum Renamed {
        @Model(originalName: "Alpha") final class Delta {
            var one: Int
            var two: Int
            var three: Int
        }
        @Model(originalName: "Beta") final class Epsilon { var text: String }
    }

    enum Crossed {
        @Model(table: "Beta") final class Alpha {
            var one: Int
            var two: Int
            var three: Int
        }
        @Model(table: "Alpha") final class Beta { var text: String }
    }

    enum Taken {
        @Model(table: "Beta", originalName: "Alpha") final class Delta {
            var one: Int
            var two: Int
            var three: Int
        }
        @Model(table: "Alpha", originalName: "Beta") final class Epsilon { var text: String }
    }

    @Test("A model's original name takes precedence over its table name, which another model had before")
    func taken() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("names.sqlite")
        try await folder.with(url, [Plain.Alpha.self, Plain.Beta.self]) { context in
            context.insert(Plain.Alpha(one: 1, two: 2, three: 3))
            context.insert(Plain.Beta(text: "b"))
            try context.commit()
        }
        try await folder.with(url, [Taken.Delta.self, Taken.Epsilon.self]) { context in
            let (three, text) = (try context.first(Taken.Delta.all)?.three, try context.first(Taken.Epsilon.all)?.text)
            #expect(three == 3 && text == "b")
        }
    }

    enum Plain {
        @Model final class Beta { var text: String }
        @Model final class Alpha {
            var one: Int
            var two: Int
            var three: Int
        }
    }

    @Test("An original name refers to a model first, even if another model's table has that name")
    func crossed() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("names.sqlite")
        try await folder.with(url, [Crossed.Alpha.self, Crossed.Beta.self]) { context in
            context.insert(Crossed.Alpha(one: 1, two: 2, three: 3))
            context.insert(Crossed.Beta(text: "b"))
            try context.commit()
        }
        try await folder.with(url, [Renamed.Delta.self, Renamed.Epsilon.self]) { context in
            let (three, text) = (
                try context.first(Renamed.Delta.all)?.three, try context.first(Renamed.Epsilon.all)?.text
            )
            #expect(three == 3 && text == "b")
        }
    }

    @Test("Models and attributes can swap names, and names can differ only in case")
    func exchange() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("names.sqlite")
        try await folder.with(url, [First.alpha.self, First.Beta.self]) { context in
            context.insert(First.alpha(one: 1, two: 2, Three: 3))
            context.insert(First.Beta(text: "b"))
            try context.commit()
        }
        try await folder.with(url, [Next.Alpha.self, Next.Beta.self]) { context in
            let alpha = try context.first(Next.Alpha.all)!
            let values: [Int] = [alpha.uno, alpha.due, alpha.three]
            #expect(values == [1, 2, 3])
            #expect(try context.first(Next.Beta.all)!.text == "b")
        }
        // 'uno' still exists and stays the same. Only 'due' looks for its original name.
        try await folder.expectRefusal(
            url,
            [Swapped.Alpha.self, Swapped.Beta.self],
            Migration(),
            .schemaMismatch,
            "due2"
        )
        try await folder.with(url, [Chained.Alpha.self, Chained.Beta.self]) { context in
            let alpha = try context.first(Chained.Alpha.all)!
            let values: [Int] = [alpha.one, alpha.two, alpha.three]
            #expect(values == [1, 2, 3])
            #expect(try context.first(Chained.Beta.all)!.text == "b")
        }
    }
}
