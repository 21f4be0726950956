// An attribute that is derived from another object's.
import Strata

@Model final class Left {
    var other: Left?
    var name: String
    @Derived var title: String { other?.name ?? "" }
}
