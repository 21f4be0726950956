// An attribute with a transformer that is none.
import Strata

enum Upper {}

@Model final class Left {
    @Attribute(.transformed(by: Upper.self)) var name: String
}
