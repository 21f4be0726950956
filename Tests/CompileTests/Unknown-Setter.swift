import Strata

func test(_ article: Article) {
    article.nope = 1
}
