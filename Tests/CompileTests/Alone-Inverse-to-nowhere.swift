// An inverse that is not a property of the other model.
import Strata

@Model final class Left {
    @Relationship(inverse: \Right.nope) var rights: Many<Right>
}

@Model final class Right {
    var left: Left?
}
