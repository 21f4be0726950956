import Strata

func test() {
    _ = Author.where { $0.cache == 1 }
}
