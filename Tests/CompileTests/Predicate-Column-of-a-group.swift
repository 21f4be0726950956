import Strata

func test() {
    _ = Article.grouped { $0.author }.having { $0.title == "a" }
}
