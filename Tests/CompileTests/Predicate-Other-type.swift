import Strata

func test() {
    _ = Article.where { $0.title == 3 }
}
