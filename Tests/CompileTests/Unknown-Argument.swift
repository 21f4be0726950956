import Strata

func test() {
    _ = Article(nope: 1)
}
