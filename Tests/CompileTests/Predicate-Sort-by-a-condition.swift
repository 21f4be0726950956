import Strata

func test() {
    _ = Article.where { $0.views > 3 }.sorted { $0.views > 4 }.limit(3)
}
