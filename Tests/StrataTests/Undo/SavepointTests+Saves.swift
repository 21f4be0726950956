import Testing

@testable import Strata

/// A line of an import, which counts in its context how often lines are validated.
@Model final class CountedLine {
    @Attribute(.unique) var code: String

    func validate(in context: ObjectContext, _ failures: inout Validation<CountedLine>) throws {
        context.state[ValidationCount.self] = (context.state[ValidationCount.self] ?? 0) + 1
        failures.require(code != "bad", "is bad", column: \.code)
    }
}

private enum ValidationCount: ContextStateKey { typealias Value = Int }

/// Saves in savepoints.
extension SavepointTests {
    @Test("A savepoint that throws drops its saves, and earlier saves stay")
    func saves() async throws {
        let stack = try await openStack(.rootOnly)
        let id = try await stack.on(.root) { context in
            let author = context.insert(Author(name: "root"))
            try context.commit()
            author.fee = 1
            return author.id
        }
        try await stack.background(parent: .named(.root)) { context in
            let author = try #require(try context.find(id))
            author.name = "saved before"
            try context.save()
            author.fee = 2
            #expect(throws: Stop.self) {
                try context.savepoint {
                    author.fee = 3
                    try context.save()
                    author.name = "saved inside"
                    context.insert(Author(name: "other"))
                    try context.save()
                    author.name = "unsaved"
                    throw Stop()
                }
            }
            #expect(author.name == "saved before" && author.fee == 2)
            #expect(context.hasChanges)
        }
        try await stack.on(.root) { context in
            let author = try #require(try context.find(id))
            #expect(author.name == "saved before")
            #expect(author.fee == 1)
            #expect(try context.count(Author.all) == 1)
            try context.commit()
            #expect(try context.rows(Author.all).map(\.fee) == [1])
        }
        try await stack.close()
    }

    @Test("A save in a savepoint reaches the parent when the outermost savepoint returns, with the later changes")
    func savesAtEnd() async throws {
        let stack = try await openStack(.rootOnly)
        let root = try stack[.root].id
        try await stack.background(parent: .named(.root)) { context in
            let isSaved = { !context.store.layers.state.withLock { $0.layers[root].isEmpty } }
            let author = context.insert(Author(name: "before"))
            try context.savepoint {
                try context.savepoint {
                    author.name = "inside"
                    try context.save()
                }
                #expect(!isSaved() && context.hasChanges)
                author.fee = 1
            }
            #expect(isSaved() && !context.hasChanges)
        }
        try await stack.on(.root) { context in
            let rows = try context.rows(Author.all).map { "\($0.name) \($0.fee ?? 0)" }
            #expect(rows == ["inside 1.0"])
        }
        try await stack.close()
    }

    @Test("A save in a savepoint checks the changes since the last save, and the end of the savepoint checks all")
    func savesInLoop() async throws {
        let stack = try await ContextStack.open(.inMemory, models: [CountedLine.self], stack: .rootOnly)
        let lines = 400
        try await stack.background(parent: .named(.root)) { context in
            try context.savepoint {
                for number in 0..<lines {
                    context.insert(CountedLine(code: "\(number)"))
                    try context.save()
                }
                // Lines whose segments are merged are checked again. Checks of all lines would be 80,000 validations.
                #expect((context.state[ValidationCount.self] ?? 0) < 20 * lines)
                let line = context.insert(CountedLine(code: "7"))
                let duplicate = #expect(throws: StrataError.self) { try context.save() }
                #expect(duplicate?.code == .notUnique)
                line.code = "bad"
                let invalid = #expect(throws: StrataError.self) { try context.save() }
                #expect(invalid?.code == .validation)
                line.code = "good"
                try context.save()
                #expect(throws: Stop.self) {
                    try context.savepoint {
                        context.insert(CountedLine(code: "inner"))
                        try context.save()
                        throw Stop()
                    }
                }
                context.insert(CountedLine(code: "inner"))
                try context.save()
                context.state[ValidationCount.self] = nil
            }
            #expect((context.state[ValidationCount.self] ?? 0) >= lines + 2)
            #expect(!context.hasChanges && context.undoing.checkedSegments.isEmpty)
        }
        #expect(try await stack.on(.root) { try $0.count(CountedLine.all) } == lines + 2)
        try await stack.close()
    }

    @Test("A save checks changes again if changes that were checked with them are dropped")
    func checkedAgain() async throws {
        let stack = try await ContextStack.open(
            .inMemory,
            models: [CountedLine.self, Author.self, Article.self, Citation.self],
            stack: .rootOnly
        )
        try await stack.on(.root) { context in
            context.insert(CountedLine(code: "stored"))
            try context.commit()
        }
        try await stack.background(parent: .named(.root)) { context in
            context.undoLevels = 10
            try context.savepoint {
                // A savepoint that throws.
                let line = context.insert(CountedLine(code: "bad"))
                #expect(throws: Stop.self) {
                    try context.savepoint {
                        line.code = "good"
                        try context.save()
                        throw Stop()
                    }
                }
                let invalid = #expect(throws: StrataError.self) { try context.save() }
                #expect(invalid?.code == .validation)
                line.code = "good"
                try context.save()
                // A rollback of single objects.
                let author = context.insert(Author(name: "a"))
                let article = context.insert(Article(title: "t", author: author))
                try context.save()
                context.rollback([author])
                let dangling = #expect(throws: StrataError.self) { try context.save() }
                #expect(dangling?.code == .missingReference)
                context.rollback([article])
                try context.save()
                // An undo that removes a delete.
                let stored = try #require(try context.first(CountedLine.where { $0.code == "stored" }))
                let other = context.undoGroup { context.insert(CountedLine(code: "stored")) }
                context.undoGroup { context.delete(stored) }
                try context.save()
                try context.undo()
                let duplicate = #expect(throws: StrataError.self) { try context.save() }
                #expect(duplicate?.code == .notUnique)
                other.code = "other"
                try context.save()
            }
        }
        let codes = try await stack.on(.root) { try $0.rows(CountedLine.sorted { $0.code.ascending }).map(\.code) }
        #expect(codes == ["good", "other", "stored"])
        try await stack.close()
    }

    @Test("A save takes place neither after its own savepoint has thrown nor after a rollback in it")
    func droppedSaves() async throws {
        let stack = try await openStack(.rootOnly)
        let root = try stack[.root].id
        try await stack.background(parent: .named(.root)) { context in
            let author = context.insert(Author(name: "before"))
            try context.savepoint {
                author.fee = 1
                #expect(throws: Stop.self) {
                    try context.savepoint {
                        author.name = "inner"
                        try context.save()
                        throw Stop()
                    }
                }
            }
            #expect(author.name == "before" && author.fee == 1)
            try context.savepoint {
                author.name = "rolled back"
                try context.save()
                context.rollback()
            }
            #expect(author.name == "before" && context.hasChanges)
            #expect(context.store.layers.state.withLock { $0.layers[root].isEmpty })
            try context.save()
        }
        try await stack.on(.root) { context in
            let names = try context.rows(Author.all).map(\.name)
            #expect(names == ["before"])
        }
        try await stack.close()
    }

    @Test("A postponed save uses the merge policy that the context had at the save")
    func policy() async throws {
        let stack = try await openStack(.rootOnly)
        let id = try await stack.on(.root) { context in
            let author = context.insert(Author(name: "stored"))
            try context.commit()
            return author.id
        }
        let child = try await stack.on(.root) { _ in try stack.create(.private, named: "child") }
        try await child.perform { try #require(try $0.find(id)).name = "mine" }
        try await stack.on(.root) { try #require(try $0.find(id)).name = "theirs" }
        try await child.perform { context in
            try context.savepoint {
                context.mergePolicy = .mine
                try context.save()
                context.mergePolicy = .error
                // With another policy, the changes are checked again.
                let conflict = #expect(throws: StrataError.self) { try context.save() }
                #expect(conflict?.code == .conflict)
            }
            #expect(context.mergePolicy == .error && !context.hasChanges)
        }
        #expect(try await stack.on(.root) { try $0.find(id)?.name } == "mine")
        try await stack.close()
    }
}
