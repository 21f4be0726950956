import Strata

func test() {
    _ = Article.often.viewed(atLeast: 3)
}
