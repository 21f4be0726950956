import Strata

func test() {
    _ = Author.where { outer in outer.articles.any { _ in outer.name == "a" } }
}
