import Strata

func test() {
    _ = Article.where { $0.title.count > 3 }
}
