import Strata

func test(_ author: Author, _ context: ObjectContext) throws {
    _ = try author.articles.viewed(atLeast: 3).count
}
