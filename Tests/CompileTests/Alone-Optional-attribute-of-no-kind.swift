// An optional attribute whose type does not say that it is one.
import Strata

struct Address: Codable, Equatable { var street: String }

@Model final class Left {
    var address: Address?
}
