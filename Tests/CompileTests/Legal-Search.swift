// A text in a variable, a literal and a pattern search alike.
import Strata

func test(_ text: String, _ pattern: SearchPattern) {
    _ = Article.search("a").search(text).search(pattern).search(.autocomplete(text))
    _ = Article.search(text)
    _ = Article.search(.prefixes(text))
    _ = Article.where { $0.title.search("a") || $0.title.search(text) || $0.author.name.search(pattern) }
    _ = Article.where { $0.title.search(.phrase("a b").excluding("c")) }
}
