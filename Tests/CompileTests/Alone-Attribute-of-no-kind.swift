// An attribute whose type does not say that it is one.
import Strata

enum Status: String { case draft }

@Model final class Left {
    var status: Status = .draft
}
