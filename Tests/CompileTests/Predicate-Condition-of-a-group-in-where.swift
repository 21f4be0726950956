import Strata

func test() {
    _ = Article.all.grouped { $0.author }.having { _ in Article.columns.views > 3 }
}
