import Foundation
import GRDB

/// Fills a store with the same articles as `press seed`.
struct Seeding: Sendable {
    let store: ArticleStore
    private static let batch = 1000
    private static let words =
        "river paper winter city council market bridge story library night train garden music harbour letter school"
        .split(separator: " ").map(String.init)

    func run(articles count: Int) async throws {
        let now = Date()
        let authors: [Int64] = try await store.pool.write { database in
            var ids: [Int64] = []
            for number in 1...10 {
                var author = Author(id: nil, name: "Author \(number)", email: "author\(number)@example.com")
                try author.insert(database)
                if let id = author.id { ids.append(id) }
            }
            return ids
        }
        for start in stride(from: 0, to: count, by: Self.batch) {
            let end = min(start + Self.batch, count)
            try await store.pool.write { database in
                for number in start..<end {
                    var article = Article(
                        id: nil,
                        title: Self.title(number),
                        body: Self.body(number),
                        publishedAt: now - Double(count - number),
                        author: authors[number % authors.count]
                    )
                    try article.insert(database)
                }
            }
        }
    }

    private static func title(_ number: Int) -> String {
        let (first, second) = (words[number % words.count], words[(number / words.count) % words.count])
        return "The \(first) and the \(second), part \(number)"
    }

    private static func body(_ number: Int) -> String {
        (0..<100).map { words[(number &* 31 &+ $0 &* ($0 &+ number % 7)) % words.count] }.joined(separator: " ") + "."
    }
}
