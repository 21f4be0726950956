// Scopes with arguments chain like those without; sorts need no direction.
import Strata

extension DerivableQuery<Article> {
    func seen(atLeast views: Int) -> Narrowed { self.where { $0.views >= views } }
    func listed(_ count: Int) -> Narrowed {
        merging(Article.viewed(atLeast: 1).sorted { $0.views.descending }.limit(count))
    }
}

func test(_ author: Author, _ context: ObjectContext) throws {
    _ = Article.often.seen(atLeast: 3).often.listed(4).sorted { $0.id }.limit(1).offset(2)
    _ = Article.sorted { $0.author }.sorted { $0.author.id }.reordered { $0.id }.sorted { $0.title }
    _ = Article.sorted { $0.views + 1 }.sorted { [$0.id.descending, $0.author.name.ascending] }
    _ = try author.articles.seen(atLeast: 3).often.listed(2).sorted { $0.author }.fetch()
    _ = try author.articles.often.seen(atLeast: 3).merging(Article.viewed(atLeast: 1)).sorted { $0.id }.count
    _ = try context.first(Article.sorted { $0.id }.limit(1).offset(2)) == nil
    _ = try context.groups(Article.grouped { $0.author }.sorted { $0.key }.sorted { $0.count }) { $0.count }
    _ = try context.fetch(Author.all.merging(Author.sorted { author in author.articles.count }))
}
