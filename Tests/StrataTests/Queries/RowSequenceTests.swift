import Foundation
import Testing

@testable import Strata

@Suite("Rows as a sequence")
struct RowSequenceTests {
    private func filled(_ count: Int, _ setUp: StackSetUp = .rootOnly) async throws -> ContextStack {
        let stack = try await openStack(setUp)
        try await stack.background { context in
            for number in 0..<count { context.insert(Article(title: "T\(number)", views: number)) }
            try context.commit()
        }
        return stack
    }

    @Test("The rows of a stack are those that its current context shows when the first row is read")
    func sequence() async throws {
        let stack = try await filled(1_000)
        try await stack.on(.root) { context in
            _ = context.insert(Article(title: "pending", views: -1))
        }
        var views: [Int] = []
        for try await row in try stack.rows(Article.sorted { $0.views }) {
            if views.isEmpty {
                try await stack.on(.root) { context in
                    for article in try context.fetch(Article.all) { context.delete(article) }
                    try context.commit()
                }
            }
            views.append(row.views)
        }
        #expect(views == Array(-1..<1_000))
        #expect(try await stack.background { try $0.count(Article.self) } == 0)
    }

    @Test("Rows of the main context include its unpublished edits; rows of other contexts show what their context sees")
    @MainActor
    func sequenceOfContexts() async throws {
        let stack = try await filled(1, .standard)
        let named = try stack.create(.private, named: .other)
        try await named.perform { context in
            _ = context.insert(Article(title: "named", views: 1))
        }
        _ = try stack.main.insert(Article(title: "main", views: 2))
        func titles(_ rows: RowSequence<Article>) async throws -> [String] {
            var titles: [String] = []
            for try await row in rows { titles.append(row.title) }
            return titles
        }
        let ofMain = try await titles(try stack.rows(Article.sorted { $0.views }))
        let ofNamed = try await titles(named.rows(Article.sorted { $0.views }))
        let ofRoot = try await titles(try stack[.root].rows(Article.all))
        #expect(ofMain == ["T0", "main"])
        #expect(ofNamed == ["T0", "named", "main"])
        #expect(ofRoot == ["T0"])
    }

    @Test("A sequence that is abandoned, or whose stack is closed, releases its reader")
    func left() async throws {
        let stack = try await filled(1_000)
        let before = try openDescriptors()
        for _ in 0..<50 {
            for try await _ in try stack.rows(Article.all) { break }
        }
        #expect(try openDescriptors() < before + 40)
        var iterator = try stack.rows(Article.all).makeAsyncIterator()
        _ = try await iterator.next()
        try await stack.close()
        var code: StrataError.Code?
        do { while try await iterator.next() != nil {} } catch { code = (error as? StrataError)?.code }
        #expect(code == .closed)
        let end = try await iterator.next()
        #expect(end == nil)
    }

    @Test("A sequence throws for an invalid query and for a context that has ended")
    func sequenceErrors() async throws {
        let stack = try await filled(1)
        let bad = await #expect(throws: StrataError.self) {
            for try await _ in try stack.rows(Article.all.limit(-1)) {}
        }
        #expect(bad?.code == .invalidQuery)
        let named = try stack.create(.private, named: .other)
        try await stack.reset()
        let gone = await #expect(throws: StrataError.self) { for try await _ in named.rows(Article.all) {} }
        #expect(gone?.code == .contextInvalidated)
        try await stack.close()
    }
}
