// H29: the inverse is named on one side. On both it is a ring of macro expansions.
import Strata

@Model final class Left {
    @Relationship(inverse: \Right.left) var rights: Many<Right>
}

@Model final class Right {
    @Relationship(inverse: \Left.rights) var left: Left?
}
