import Strata

func test() {
    _ = Author.sorted { $0.articles }
}
