import Strata

func test() {
    _ = Article.with { $0.title }
}
