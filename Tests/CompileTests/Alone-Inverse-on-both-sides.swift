// The inverse must be named on one side only. Named on both sides, the macro expansions form a cycle.
import Strata

@Model final class Left {
    @Relationship(inverse: \Right.left) var rights: Many<Right>
}

@Model final class Right {
    @Relationship(inverse: \Left.rights) var left: Left?
}
