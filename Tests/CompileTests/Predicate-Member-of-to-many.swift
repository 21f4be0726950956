import Strata

func test() {
    _ = Author.where { $0.articles.title == "a" }
}
