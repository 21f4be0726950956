import Strata

func test() {
    _ = Article.where { _ in true }
}
