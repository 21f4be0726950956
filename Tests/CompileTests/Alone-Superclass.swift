import Strata

protocol Named { associatedtype Name }
class Base { var count = 3 }

@Model final class Article: Base {
    var title: String
}

@Model final class Author: Named, Identifiable {
    typealias Name = String
    var name: String
}
