// An attribute whose transformer does not conform to ValueTransformer.
import Strata

enum Upper {}

@Model final class Left {
    @Attribute(.transformed(by: Upper.self)) var name: String
}
