import Strata

func test() {
    _ = Article.including { $0.title }
}
