// Declarations that the cases need: a model, and targets for leaks of its objects.
import Strata

@Model nonisolated final class Article {
    var title: String = ""
    var views: Int = 0
    var author: Author?

    static let often = Article.where { $0.views > 9 }
    static func viewed(atLeast views: Int) -> Query<Article> { Article.where { $0.views >= views } }
}

@Model nonisolated final class Author {
    var name: String = ""
    @Relationship(inverse: \Article.author) var articles: Many<Article>
    @Transient var cache: Int = 0
}

nonisolated extension ObjectContext {
    func anyObject() -> Article { insert(Article()) }
    func use(_ article: Article) {}
}

actor Keeper {
    var kept: Article?
    func keep(_ article: sending Article) { kept = article }
    func note(_ title: String) {}
}

@MainActor final class Screen {
    var shown: Article?
    var title = ""
}

@MainActor let screen = Screen()
@MainActor func show(_ article: Article) {}
@MainActor func show(title: String) {}
@concurrent func elsewhere(_ article: Article) async {}
@concurrent func elsewhere(title: String) async {}
