// A derived attribute that is set by hand.
import Strata

@Model final class Left {
    var name: String
    @Derived var title: String { name.uppercased() }
}

func test(_ left: Left) {
    left.title = "A"
}
