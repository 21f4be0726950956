import Foundation
import TestHomeTraits
import Testing

@testable import Strata

@Model final class Leaflet {
    @Attribute(.check("must be short") { if case .text(let text) = $0 { text.utf8.count < 5 } else { true } })
    var title: String
    var size: Double = 0
    var views: Int = 0
}

@Suite("Validation rules of attributes", .aboutTheFile("changes rows of the file from outside"))
struct ValidationRuleTests {
    private func make(_ folder: ScratchFolder) async throws -> ContextStack {
        let url = folder.file("drafts.sqlite")
        try await folder.with(url, [Leaflet.self]) { context in
            context.insert(Leaflet(title: "a"))
            try context.commit()
        }
        // Another program has written this title, or this program before it had the rule.
        try folder.sql(url, "UPDATE Leaflet SET title = 'much too long'")
        return try await ContextStack.open(.sqlite(url), models: [Leaflet.self], stack: .rootOnly)
    }

    @Test("An edit is checked against the rules of the attributes that it sets")
    func edits() async throws {
        let folder = try ScratchFolder()
        let stack = try await make(folder)
        try await stack.background { context in
            let draft = try #require(try context.first(Leaflet.all))
            draft.views = 1
            try context.save()
            draft.size = 2
            try context.commit()
            draft.title = "still too long"
            #expect(throws: StrataError.self) { try context.commit() }
            context.rollback()
            draft.title = "ok"
            try context.commit()
        }
        #expect(try await stack.background { try $0.column(Leaflet.all, \.title) } == ["ok"])
        try await stack.close()
    }

    @Test("Attributes that several saves have set are checked together")
    func saves() async throws {
        let folder = try ScratchFolder()
        let stack = try await make(folder)
        try stack.create(.private, named: "worker")
        try await stack.on("worker") { context in
            let draft = try #require(try context.first(Leaflet.all))
            draft.views = 1
            try context.save()
        }
        try await stack.on(.root) { context in
            try #require(try context.first(Leaflet.all)).title = "much too long as well"
        }
        await expect(.validation) { try await stack.commit(.root) }
        try await stack.close()
    }

    @Test("A batch is checked against the rules of the attributes that it sets")
    func batches() async throws {
        let folder = try ScratchFolder()
        let stack = try await make(folder)
        try await stack.background { context in
            try context.batchUpdate(Leaflet.all) { $0.views.set(to: 5) }
            #expect(try context.column(Leaflet.all, \.views) == [5])
            #expect(throws: StrataError.self) {
                try context.batchUpdate(Leaflet.all) { $0.title.set(to: "too long too") }
            }
        }
        try await stack.close()
    }
}
