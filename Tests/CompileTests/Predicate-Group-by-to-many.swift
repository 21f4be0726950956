import Strata

func test() {
    _ = Author.grouped { $0.articles }
}
