// An attribute that is derived from an attribute of another object.
import Strata

@Model final class Left {
    var other: Left?
    var name: String
    @Derived var title: String { other?.name ?? "" }
}
