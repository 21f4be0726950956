import Strata

func test(_ author: Author, _ context: ObjectContext) throws {
    _ = try author.articles.where { $0.views > 3 }.sorted { $0.author.articles }.fetch()
}
