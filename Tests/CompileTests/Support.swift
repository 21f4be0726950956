// What the cases need: a stand-in model object and places to leak it to. Swap `Article` and `anyObject` for a @Model.
import Strata

nonisolated final class Article {
    var title = ""
    init() {}
}

nonisolated extension ObjectContext {
    func anyObject() -> Article { Article() }
    func use(_ article: Article) {}
}

actor Keeper {
    var kept: Article?
    func keep(_ article: sending Article) { kept = article }
    func note(_ title: String) {}
}

@MainActor final class Screen {
    var shown: Article?
    var title = ""
}

@MainActor let screen = Screen()
@MainActor func show(_ article: Article) {}
@MainActor func show(title: String) {}
@concurrent func elsewhere(_ article: Article) async {}
@concurrent func elsewhere(title: String) async {}
