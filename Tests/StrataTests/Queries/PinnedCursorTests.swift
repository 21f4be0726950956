import Testing

@testable import Strata

@Suite("Cursors of pinned contexts")
struct PinnedCursorTests {
    /// A pinned context with authors of three kinds: stored ones, ones changed or inserted here, and deleted ones.
    /// Another context has changed all of them since. The pinned context shows the names `a`, `here`, `new` and `z`.
    private func setUpPinned() async throws -> ContextStack {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            for name in ["a", "b", "gone", "z"] { context.insert(Author(name: name)) }
            try context.commit()
        }
        let pinned = try stack.create(.private, named: "pinned", merging: .pinned)
        try await pinned.perform { context in
            context.insert(Author(name: "new"))
            try #require(try context.first(Author.where { $0.name == "b" })).name = "here"
            context.delete(try #require(try context.first(Author.where { $0.name == "gone" })))
        }
        try await stack.background { context in
            for author in try context.fetch(Author.where { $0.name != "b" }) { author.fee = 9 }
            context.insert(Author(name: "c"))
            try context.commit()
        }
        return stack
    }

    private let names = ["a", "here", "new", "z"]

    @Test("Cursors of a pinned context show its state, and do not move it")
    func pinnedCursors() async throws {
        let stack = try await setUpPinned()
        try await stack.on("pinned") { context in
            let query = Author.sorted { $0.name.ascending }
            let sequence = try context.currentSnapshot().sequence
            var shown: [String] = []
            try context.forEachRow(query) { row in
                shown.append(row.name)
                #expect(row.fee == nil)
            }
            #expect(shown == names)
            shown = []
            try context.forEach(query) { author in
                shown.append(author.name)
                #expect(author.fee == nil)
                author.fee = 1
            }
            #expect(shown == names)
            let rows = try context.rowCursor(query.offset(1).limit(2))
            #expect(try [rows.next()?.name, rows.next()?.name, rows.next()?.name] == ["here", "new", nil])
            #expect(try context.currentSnapshot().sequence == sequence)
            #expect(try context.column(query, \.name) == names)
            try context.merge()
            shown = []
            try context.forEachRow(query) { shown.append($0.name) }
            #expect(shown == ["a", "c", "here", "new", "z"])
        }
        try await stack.close()
    }

    @Test("A cursor of a pinned context keeps the state of its beginning, whatever the context does meanwhile")
    func pinnedCursorOfOldState() async throws {
        let stack = try await setUpPinned()
        try await stack.on("pinned") { context in
            context.mergePolicy = .mine
            let query = Author.sorted { $0.name.ascending }
            let (rows, objects) = (try context.rowCursor(query), try context.cursor(query))
            #expect(try rows.next()?.name == "a" && objects.next()?.name == "a")
            try #require(try context.first(Author.where { $0.name == "here" })).name = "edited"
            context.insert(Author(name: "later"))
            try context.commit()
            #expect(try context.count(Author.all) == 6)
            var remaining: [String] = []
            while let row = try rows.next() {
                remaining.append(row.name)
                #expect(row.fee == nil)
            }
            #expect(remaining == ["here", "new", "z"])
            // Objects show the context's current state.
            #expect(try [objects.next()?.name, objects.next()?.name] == ["edited", "new"])
            #expect(try objects.next()?.fee == 9)
            #expect(try objects.next() == nil)
            // This cursor is abandoned before its end.
            _ = try context.rowCursor(query).next()
        }
        // All connections have been returned. Otherwise this call would wait.
        try await stack.close()
    }
}
