import Strata

func test(_ article: Article) {
    if article.nope { return }
}
