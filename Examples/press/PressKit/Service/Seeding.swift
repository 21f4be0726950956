import Foundation
import Strata

/// Fills a store with articles, for tests and demonstrations.
///
/// Batches write rows without objects, hooks and mails. Each batch is a separate commit, so readers and other writers do
/// not wait for long.
struct Seeding: Sendable {
    let stack: ContextStack
    private static let batch = 1000
    private static let words =
        "river paper winter city council market bridge story library night train garden music harbour letter school"
        .split(separator: " ").map(String.init)

    init(_ stack: ContextStack) { self.stack = stack }

    /// - Parameter report: is called after each batch, with the number of written articles.
    func run(articles count: Int, now: Date = Date(), report: (_ written: Int) -> Void = { _ in }) async throws {
        let authors = try await addAuthors()
        for start in stride(from: 0, to: count, by: Self.batch) {
            let end = min(start + Self.batch, count)
            try await stack.background { context in
                let rows = (start..<end).lazy.map { number -> Article.Row in
                    var row = Article(
                        title: Self.title(number),
                        body: Self.body(number),
                        publishedAt: now - Double(count - number)
                    ).snapshot
                    row.author = authors[number % authors.count]
                    return row
                }
                _ = try context.batchInsert(rows)
            }
            report(end)
        }
    }

    /// The authors of earlier runs are used again.
    private func addAuthors() async throws -> [ObjectID<Author>] {
        try await stack.background { context in
            let rows = (1...10).map { Author(name: "Author \($0)", email: "author\($0)@example.com").snapshot }
            try context.batchUpsert(rows, by: "email")
            let emails = rows.map(\.email)
            return try context.ids(Author.where { $0.email.in(emails) })
        }
    }

    private static func title(_ number: Int) -> String {
        let (first, second) = (words[number % words.count], words[(number / words.count) % words.count])
        return "The \(first) and the \(second), part \(number)"
    }

    /// About 600 characters, which differ from article to article.
    private static func body(_ number: Int) -> String {
        (0..<100).map { words[(number &* 31 &+ $0 &* ($0 &+ number % 7)) % words.count] }.joined(separator: " ") + "."
    }
}
