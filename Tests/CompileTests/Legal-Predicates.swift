// The counterparts of the predicates that must not compile.
import Strata

func test(_ author: Author) {
    _ = Article.where { $0.title.contains("a") && !($0.views > 3 || $0.author.name == "b") }
    _ = Article.where { $0.author == author || $0.author == nil }
    _ = Author.where { $0.articles.any { $0.title == "a" } && $0.articles.count > 1 }
    _ = Article.sorted { [$0.author.name.descending, $0.views.ascending] }
    _ = Article.all.merging(Article.where { $0.views == 1 })
}
