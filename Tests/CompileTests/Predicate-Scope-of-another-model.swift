import Strata

func test() {
    _ = Author.all.merging(Article.all)
}
