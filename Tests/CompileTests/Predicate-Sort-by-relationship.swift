import Strata

func test() {
    _ = Article.sorted { $0.author.ascending }
}
