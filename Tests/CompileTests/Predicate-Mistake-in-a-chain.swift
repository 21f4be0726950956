import Strata

func test() {
    _ = Article.where {
        $0.views > 3 && $0.title == "a" && $0.views < 9 && !$0.title.hasPrefix("b") && $0.author == nil && $0.views != 4
            && $0.title != "c" && $0.author.name != "d" && $0.views >= 5 && $0.title.contains("e") && $0.views <= 8
            && $0.title == 3
    }
}
