import Strata

func test() {
    _ = Article.where { $0.views.contains("1") }
}
