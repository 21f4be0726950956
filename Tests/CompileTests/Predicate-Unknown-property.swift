import Strata

func test() {
    _ = Article.where { $0.nope == 1 }
}
