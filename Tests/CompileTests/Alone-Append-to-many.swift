import Strata

@Model final class Author {
    @Relationship(inverse: \Article.author) var articles: Many<Article>
}

@Model final class Article {
    var author: Author?
}

func test(_ author: Author) {
    author.articles.append(Article())
}
