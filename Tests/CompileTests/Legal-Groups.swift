// Groups, sections, prefetching, cursors and raw SQL.
import Strata

func test(_ context: ObjectContext) throws {
    let byAuthor = Article.grouped { $0.author.name }.having { $0.count > 3 && $0.sum(\.views) < 10 }
    for (name, count) in try context.groups(byAuthor.sorted { $0.key.descending }, { $0.count }) { _ = (name, count) }
    for ((author, title), (sum, average, least)) in try context.groups(
        Article.grouped { ($0.author, $0.title) }.sorted { [$0.key.1.ascending, $0.count.descending] },
        { ($0.sum(\.views), $0.average { $0.views * 2 }, $0.minimum(\.title)) }
    ) { _ = (author, title, sum, average, least) }
    _ = try context.sections(Article.all, by: \.title).map(\.elements.count)
    _ = try context.fetch(Author.including { $0.articles.including { $0.author } }.where { $0.name == "a" })
    try context.forEach(Article.all) { $0.views += 1 }
    _ = try context.values(Int.self, "SELECT \(Article.columns.views) FROM \(Article.self) AS a WHERE views > \(3)")
    _ = Article.where { $0.views > 3 && .sql("length(\($0.title)) = \(3)") }
}
