import Strata

func test(_ article: Article) {
    _ = article.nope
}
